# Rewrites an SVG of gnuplot's with the same picture in a sixth of the bytes: neighbouring boxes of one
# look are one path, neighbouring words of one look one group, pixels have one decimal.
BEGIN { RS = "<" }

function attribute(name,   at, quote, rest)
{
	if (!match($0, name "[ ]*=[ ]*[\"']"))
		return ""
	quote = substr($0, RSTART + RLENGTH - 1, 1)
	rest = substr($0, RSTART + RLENGTH)
	return substr(rest, 1, index(rest, quote) - 1)
}

function short(number)
{
	number = sprintf("%.1f", number)
	sub(/\.0$/, "", number)
	return number == "-0" ? "0" : number
}

function colour(name,   part)
{
	if (name == "currentColor" || name == "black")
		return "#000"
	if (name !~ /^rgb/)
		return name
	gsub(/rgb\(|\)| /, "", name)
	split(name, part, ",")
	return sprintf("#%02x%02x%02x", part[1], part[2], part[3])
}

function flush()
{
	if (shape != "")
		print "<path " shape_look " d='" shape "'/>"
	if (words != "")
		print "<g " words_look ">" words "</g>"
	shape = words = ""
}

function add_shape(look, path)
{
	if (look != shape_look || words != "")
		flush()
	shape_look = look
	shape = shape path
}

# "M64.00,38.88 L64.00,59.12 ... Z": a rectangle in 25 bytes, any other path as it is.
function shorten(path,   n, point, x, y, i, corner, out)
{
	n = split(path, point, /[ ]+/)
	for (i = 1; i <= n; i++) {
		split(substr(point[i], 2), corner, ",")
		x[i] = corner[1]
		y[i] = corner[2]
	}
	if (n >= 5 && path ~ /Z/ && x[1] == x[2] && y[2] == y[3] && x[3] == x[4] && y[4] == y[1])
		return "M" short(x[1]) " " short(y[1]) "v" short(y[2] - y[1]) "h" short(x[3] - x[2]) "v" \
			short(y[4] - y[3]) "z"
	for (i = 1; i <= n; i++)
		if (point[i] ~ /^[ML]/)
			out = out substr(point[i], 1, 1) short(x[i]) " " short(y[i])
		else
			out = out point[i]
	return path ~ /L/ ? out : ""
}

/^defs/ { hidden = 1 }
/^\/defs/ { hidden = 0; next }
hidden || /^title>Gnuplot/ || /^desc/ { next }

/^\?xml/ { printf "<%s", $0; next }
/^svg/ || /^image/ || /^rect x="0" y="0"/ {
	flush()
	gsub(/[ \t\n]+/, " ")
	sub(/ $/, "")
	print "<" $0
	next
}
# A box is a polygon and the path around it; one without a border is the polygon alone.
/^(g |polygon|text>)/ && fill != "" {
	add_shape("fill='" fill "'", "M" points "z")
	fill = ""
}
/^polygon/ {
	fill = colour(attribute("fill"))
	points = attribute("points")
	sub(/ +$/, "", points)
	gsub(/ +/, "L", points)
	gsub(/,/, " ", points)
	next
}
/^path/ {
	path = shorten(attribute(" d"))
	if (path != "")
		add_shape("fill='" (fill != "" ? fill : "none") "' stroke='" colour(attribute("stroke")) \
			"' stroke-width='" width "'", path)
	fill = ""
	next
}
/^g transform/ {
	match($0, /translate\([^)]*/)
	split(substr($0, RSTART + 10, RLENGTH - 10), place, ",")
	turn = match($0, /rotate\([^)]*/) ? substr($0, RSTART + 7, RLENGTH - 7) : ""
	look = "fill='" colour(attribute("fill")) "' font-family='Arial,sans-serif' font-size='" \
		short(attribute("font-size")) "' text-anchor='" attribute("text-anchor") "'"
	if (attribute("font-weight") != "")
		look = look " font-weight='" attribute("font-weight") "'"
	if (attribute("font-style") != "")
		look = look " font-style='" attribute("font-style") "'"
	next
}
/^g .*stroke-width/ { width = short(10 * attribute("stroke-width")) / 10; next }
/^text>/ {
	text = substr($0, 6)
	if (look != words_look || shape != "")
		flush()
	words_look = look
	place[1] = short(place[1])
	place[2] = short(place[2])
	if (turn != "")
		text = "' transform='rotate(" turn " " place[1] " " place[2] ")'>" text
	else
		text = "'>" text
	words = words "<text x='" place[1] "' y='" place[2] text "</text>"
	next
}
END {
	flush()
	print "</svg>"
}
