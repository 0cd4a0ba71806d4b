# Lines "NAME VALUE ..." in any order; prints for each NAME the number of
# lines and the median of every column, and the medians divided by those of
# the name given as -v base=NAME.
{
    if (!($1 in rounds)) order[++names] = $1
    rounds[$1]++
    for (c = 2; c <= NF; c++) value[$1, c, rounds[$1]] = $c
    if (NF > columns) columns = NF
}
function median(name, column,    n, i, j, sorted, swap) {
    n = rounds[name]
    for (i = 1; i <= n; i++) sorted[i] = value[name, column, i]
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && sorted[j - 1] + 0 > sorted[j] + 0; j--) {
            swap = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = swap
        }
    return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}
END {
    if (head) print head
    for (i = 1; i <= names; i++) {
        line = sprintf("%-8s %3d", order[i], rounds[order[i]])
        for (c = 2; c <= columns; c++) line = line sprintf(" %12.3f", median(order[i], c))
        print line
    }
    for (i = 1; i <= names; i++) {
        if (order[i] == base) continue
        line = sprintf("%s / %s", order[i], base)
        for (c = 2; c <= columns; c++) {
            under = median(base, c)
            line = line (under > 0 ? sprintf(" %12.4f", median(order[i], c) / under) : sprintf(" %12s", "-"))
        }
        print line
    }
}
