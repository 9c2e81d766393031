# Reads a document for tests/examples.sh, which says what an example looks like.
#   mode=extract  writes the examples as one shell script, whose outputs land in FOLDER/N.out and N.err
#   mode=compare  compares these with what the document says; with update=1 writes the document anew,
#                 as FOLDER/updated
# strict=1: standard error is marked "! ", no output means that there is none, and 0 is the only exit status
# that need not be said. Else outputs are as on a terminal, an example without any is only run, and 1 may
# go unsaid too, the answer "no".

{ lines[NR] = $0 }

END {
	parse()
	if (strict) read_words()
	if (mode == "extract") extract()
	else compare()
}

# Example i: its command, and the lines first[i] to last[i] of the document below it.
function parse(    i, line, inside, continued, open)
{
	for (i = 1; i <= NR; i++) {
		line = unescaped(lines[i])
		if (line ~ /^```/ || line ~ /^\.Bd/ || line ~ /^\.Ed/) {
			inside = line ~ /^\.Bd/ || (line ~ /^```/ && !inside)
			open = continued = 0
		} else if (continued) {
			command[n] = command[n] "\n" line
			continued = line ~ /\\$/
			first[n] = i + 1
			last[n] = i
		} else if (inside && line ~ /^\$ ([A-Z_]+=[^ ]* )*(\.\/)?pipesim/) {
			n++
			sub(/^\$ (\.\/)?/, "", line)
			command[n] = line
			continued = line ~ /\\$/
			at[n] = i
			first[n] = i + 1
			last[n] = i
			open = 1
		} else if (inside && line ~ /^\$ /)
			open = 0 # another program
		else if (inside && open)
			last[n] = i
	}
	unclosed = inside
}

# As mdoc writes what would mean something to it.
function unescaped(line)
{
	if (FILENAME ~ /\.[0-9]$/) {
		gsub(/\\-/, "-", line)
		gsub(/\\e/, "\\", line)
		gsub(/\\&/, "", line)
	}
	return line
}

# What is above tables: head[1] to head[3]. Paragraph p of what is below them: its name, and the lines from
# starts[p] to before starts[p + 1] of legend[].
function read_words(    line)
{
	while (n_head < 3 && (getline line <words) > 0)
		head[++n_head] = line
	while ((getline line <words) > 0) {
		legend[++n_legend] = line
		if (line !~ /^ /) {
			starts[++n_paragraphs] = n_legend
			called[n_paragraphs] = line
			sub(/  +.*/, "", called[n_paragraphs])
		}
	}
	starts[n_paragraphs + 1] = n_legend + 1
}

# Which paragraph of the legend stands in text[] from j, or 0.
function paragraph_at(text, j,    p, k)
{
	for (p = 1; p <= n_paragraphs; p++) {
		for (k = starts[p]; k < starts[p + 1] && text[j + k - starts[p]] == legend[k]; k++)
			;
		if (k == starts[p + 1])
			return p
	}
	return 0
}

# Behind the line of ranks and micro-batches: that schedules are compared at so many ranks, and in unit times.
function fold_head(i,    j, k, ranks, said)
{
	for (j = first[i]; j <= last[i]; j++)
		if (lines[j] ~ /^Compared at equal ranks/ || (lines[j] == head[2] && lines[j + 1] == head[3]))
			return
	for (j = 1; j <= n_got; j++) {
		got[++k] = got[j]
		if (got[j] !~ /^PP [0-9]+, [0-9]+ micro-batch/)
			continue
		ranks = head[1]
		sub(/2/, substr(got[j], 4, index(got[j], ",") - 4), ranks)
		said = ""
		if (got[j + 1] == ranks) {
			said = "equal ranks"
			j++
		}
		if (got[j + 1] == head[2] && got[j + 2] == head[3]) {
			said = said (said == "" ? "" : ", ") "unit times"
			j += 2
		}
		if (said != "")
			got[k] = got[k] " [" said "]"
	}
	n_got = k
}

# What more there is to ask for, below an answer, but where an example has it whole.
function fold_more(i,    j, k)
{
	for (j = first[i]; j <= last[i]; j++)
		if (lines[j] ~ /^More: --full/)
			return
	for (j = 1; j <= n_got; j++)
		if (got[j] == "" && got[j + 1] ~ /^More: --full/) {
			got[++k] = "[more]"
			j++
		} else
			got[++k] = got[j]
	n_got = k
}

# An example that has one of the paragraphs whole is compared whole, and so says how they read.
function fold(i,    j, k, p)
{
	for (j = first[i]; j <= last[i]; j++)
		if (paragraph_at(lines, j))
			return
	for (j = 1; j <= n_got; j++) {
		p = paragraph_at(got, j)
		if (p && got[k] ~ /^\[legend: /)
			got[k] = substr(got[k], 1, length(got[k]) - 1) ", " called[p] "]"
		else if (p)
			got[++k] = "[legend: " called[p] "]"
		else
			got[++k] = got[j]
		if (p)
			j += starts[p + 1] - starts[p] - 1
	}
	n_got = k
}

# A plan of many GPUs that nothing but the sequence narrows down; tests/plan.sh and others have smaller ones.
function takes_long(i)
{
	return long == "" && update == "" && command[i] ~ /^pipesim plan .*--gpus (64|512) .*--seq 8192( --framework torchtitan)?$/
}

function extract(    i)
{
	for (i = 1; i <= n; i++) {
		if ((gnuplot == "" && command[i] ~ /timeline[ =][^ ]*\.(svg|png|pdf)/) || takes_long(i))
			continue
		# The last line, which shows too where the output ends without one.
		printf "{ %s\necho \"[exit $?]\"; } >%s/%d.out 2>%s\n", command[i], folder, i,
			(strict ? folder "/" i ".err" : "&1")
	}
}

# Into got[]: what example i printed, or 0 where it did not run. Into out[]: standard output, if the
# example says that this stands in a file.
function collect(i,    line, name, status)
{
	n_got = n_out = 0
	name = folder "/" i ".out"
	reference = ""
	if (first[i] <= last[i] && lines[first[i]] ~ /^\[output: .*\]$/) {
		reference = lines[first[i]]
		sub(/^\[output: /, "", reference)
		sub(/\]$/, "", reference)
		got[++n_got] = lines[first[i]]
	}
	while ((getline line < name) > 0) {
		if (line ~ /^\[exit [0-9]+\]$/)
			status = line
		else if (reference != "")
			out[++n_out] = line
		else
			got[++n_got] = line
	}
	close(name)
	if (status == "" && n_got + n_out == 0)
		return 0
	if (strict) {
		fold_head(i)
		fold_more(i)
		fold(i)
	}
	name = folder "/" i ".err"
	while (strict && (getline line < name) > 0)
		got[++n_got] = "! " line
	if (strict)
		close(name)
	if (status == "")
		got[++n_got] = "[exit in the middle of a line]"
	else if (strict && status == "[exit 2]" && got[n_got] ~ /^! Try 'pipesim.* --help'\.$/ && lines[last[i]] != status)
		got[n_got] = "[exit 2: " substr(got[n_got], 8, length(got[n_got]) - 9) "]"
	else if (status != "[exit 0]" && (strict || status != "[exit 1]" || lines[last[i]] == status))
		got[++n_got] = status
	return 1
}

# Whether got[] from j is what lines[] from i to end say; a line "..." stands for any lines.
function matches(i, end, j)
{
	for (; i <= end; i++) {
		if (lines[i] == "...") {
			for (; j <= n_got + 1; j++)
				if (matches(i + 1, end, j))
					return 1
			return 0
		}
		if (j > n_got || unescaped(lines[i]) != got[j])
			return 0
		j++
	}
	return j == n_got + 1
}

function is_only_run(i)
{
	return !strict && first[i] > last[i] && (n_got == 0 || got[n_got] !~ /^\[exit/)
}

function equals_reference(    i, line, differs)
{
	if (reference == "")
		return 1
	while ((getline line < (sources "/" reference)) > 0)
		if (line != out[++i])
			differs = 1
	close(sources "/" reference)
	return !differs && i == n_out
}

function show_difference(i,    wanted, printed, j)
{
	wanted = folder "/wanted"
	printed = folder "/printed"
	printf "" >wanted
	printf "" >printed
	for (j = first[i]; j <= last[i]; j++)
		print unescaped(lines[j]) >wanted
	for (j = 1; j <= n_got; j++)
		print got[j] >printed
	close(wanted)
	close(printed)
	system("diff -u " wanted " " printed)
	if (reference == "")
		return
	printf "" >printed
	for (j = 1; j <= n_out; j++)
		print out[j] >printed
	close(printed)
	system("diff -u " sources "/" reference " " printed)
	if (update)
		system("cp " printed " " sources "/" reference)
}

function can_update(i,    j)
{
	for (j = first[i]; j <= last[i]; j++)
		if (lines[j] == "...")
			return 0
	return update && FILENAME !~ /\.[0-9]$/
}

function compare(    i, j, ran, done, passed, new)
{
	new = folder "/updated"
	for (i = 1; i <= n; i++) {
		if (takes_long(i))
			continue
		ran = collect(i)
		if (!ran)
			print "SKIP: no gnuplot for: " command[i]
		else if (is_only_run(i) || (matches(first[i], last[i], 1) && equals_reference()))
			passed++
		else {
			show_difference(i)
			if (can_update(i)) {
				while (done + 1 < first[i])
					print lines[++done] >new
				for (j = 1; j <= n_got; j++)
					print got[j] >new
				done = last[i]
				print "updated: " name ":" at[i] ": " command[i]
			} else
				print "FAIL: " name ":" at[i] ": prints something else: " command[i]
		}
	}
	if (update) {
		while (done < NR)
			print lines[++done] >new
		close(new)
	}
	# What follows would be taken for text, and not run.
	if (unclosed && FILENAME !~ /\.[0-9]$/)
		print "FAIL: " name ": its last block of examples is not closed, or one before is not opened"
	print "passed " passed + 0
}
