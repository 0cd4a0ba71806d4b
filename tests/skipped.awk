# What nextest's JUnit report has of tests that skipped: the reasons that they
# gave, and who gave each. A line of theirs begins with `skipped`, or with the
# test's name and `skipped`.
/<testcase / {
    test = $0
    sub(/.*<testcase name="/, "", test)
    sub(/".*/, "", test)
}
{
    line = $0
    # The first line stands behind the indented tag.
    sub(/^ *<system-(out|err)>/, "", line)
    gsub(/<[^>]*>/, "", line)
    if (line !~ /^([a-z0-9_]+: )?skipped[ :]/) next
    gsub(/&lt;/, "<", line); gsub(/&gt;/, ">", line); gsub(/&quot;/, "\"", line)
    gsub(/&apos;/, "'", line); gsub(/&amp;/, "\\&", line)
    sub(/^([a-z0-9_]+: )?skipped:? */, "", line)
    # The name, which stands beside it anyway.
    short = test
    sub(/.*::/, "", short)
    if (index(line, short ": ") == 1) line = substr(line, length(short) + 3)
    # Threads and files of the test have other numbers in each.
    reason = line
    gsub(/[0-9]+/, "0", reason)
    if ((test, reason) in seen) next
    seen[test, reason] = 1
    if (!(reason in count)) { order[++reasons] = reason; told[reason] = line }
    count[reason]++
    who[reason] = who[reason] "\n    " test
    if (!(test in skipped)) { skipped[test] = 1; tests++ }
}
END {
    if (!reasons) { print "No test skipped, whole or in part."; exit }
    printf "%d tests skipped, whole or in part:\n", tests
    for (at = 1; at <= reasons; at++)
        printf "  %s (%d)%s\n", told[order[at]], count[order[at]], who[order[at]]
}
