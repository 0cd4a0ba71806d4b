"""generate.py FUNCTIONS: a C file of so many functions, about ten lines each,
the same on every run."""
import random
import sys

random.seed(5)
count = int(sys.argv[1])
print("#include <stdio.h>\n#include <string.h>\nstruct node { int key; double weight; struct node *next; };")
for n in range(count):
    a, b, c = (random.randrange(1, 1000) for _ in range(3))
    other = f"f{random.randrange(n)}(x % {a + 1}, p)" if n else "x"
    print(f"""static int f{n}(int x, struct node *p)
{{
    int sum = {a};
    for (int i = 0; i < x % {b % 40 + 2}; i++) {{
        sum = sum * {c} + (i ^ {a});
        if (p && p->key > sum) {{ p->weight += sum * {b / 10}; p = p->next; }}
        switch (sum & 3) {{ case 0: sum += {b}; break; case 1: sum ^= x; break; case 2: sum -= i * {c}; break; default: sum = ~sum; }}
    }}
    return x > 3 ? sum + {other} : sum;
}}""")
print("int main(void)\n{\n    struct node nodes[3] = {{5, 1, nodes + 1}, {500, 2, nodes + 2}, {50000, 3, 0}};\n    unsigned all = 0;")
for n in range(0, count, 3):
    print(f"    all = all * 31 + (unsigned)f{n}({n % 17}, nodes);")
print('    printf("%u %g\\n", all, nodes[1].weight);\n    return 0;\n}')
