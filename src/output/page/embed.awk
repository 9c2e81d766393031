# page.html as a string of C. A line "@INCLUDE NAME@" stands for the file NAME of the folder.
BEGIN {
	print "/* Made of src/output/page by embed.awk. */"
	print "static const char page_template[] ="
}
/^@INCLUDE .*@$/ {
	file = folder "/" substr($2, 1, length($2) - 1)
	while ((status = (getline line <file)) > 0)
		put(line)
	if (status < 0) {
		print "embed.awk: cannot read " file >"/dev/stderr"
		exit 1
	}
	close(file)
	next
}
{ put($0) }
END { print "\t\"\";" }

function put(text)
{
	gsub(/[\\"]/, "\\\\&", text)
	print "\t\"" text "\\n\""
}
