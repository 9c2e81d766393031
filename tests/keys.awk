# Lines of `pipesim --keys` as a table: a row an object, and one for neighbours with the same keys.
function row() { if (keys != "") printf "| %s | %s | %s |\n", document, places, keys }
BEGIN { FS = "\t"; print "| `pipesim` | in | keys |\n|---|---|---|" }
{
	place = $2; key = $2
	if (match($2, /.*\./)) { place = substr($2, 1, RLENGTH - 1); key = substr($2, RLENGTH + 1) } else place = ""
	if ($1 != command || place != at) flush_object()
	command = $1; at = place
	list = list (list == "" ? "" : ", ") "`" key "` " $3
}
function flush_object() {
	if (list == "") return
	if (command == document && list == keys && at != "") places = places ", `" at "`"
	else { row(); document = command; places = at == "" ? "" : "`" at "`"; keys = list }
	list = ""
}
END { flush_object(); row() }
