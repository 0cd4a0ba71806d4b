/* A library for names.c: a call of lib_add writes once to each of `lib_total`
 * and `lib_hidden`; its constructor has written once to `lib_total` by then. */
volatile long lib_total = 5;
static volatile long lib_hidden = 2;

__attribute__((constructor)) static void begin(void)
{
    lib_total = 6;
}

__attribute__((noinline)) long lib_add(long by)
{
    lib_hidden = by;
    lib_total = by;
    return by;
}
