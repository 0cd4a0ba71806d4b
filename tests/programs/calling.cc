/* calling: reads across two lines of memory in `across` and nowhere else, as
 * often as is said here for each way to it, innermost caller first:
 *
 *   11  across inner middle main
 *    7  across odd even odd even odd even main    mutual recursion
 *    5  across last main                          `hop` has jumped to `last`
 *    3  across on_signal ... raise_it main        a signal's handler
 *    4  across jumps main                         behind five frames that longjmp left
 *    6  across catches main                       in a catch block
 *    6  across undo passes catches main           a destructor's, as the exception passes
 *    2  across rethrown main                      behind two exceptions, one in the other */
#include <csetjmp>
#include <csignal>

#define KEPT extern "C" __attribute__((noinline, noclone, noipa))

alignas(64) static char lines[128];
static volatile int sink;
static jmp_buf back;

KEPT void across()
{
    long value;
    __asm__ volatile("mov 60(%1), %0" : "=r"(value) : "r"(lines));
}

KEPT void inner()
{
    across();
    sink = sink + 1;
}

KEPT void middle()
{
    inner();
    sink = sink + 1;
}

KEPT void odd(int depth);

KEPT void even(int depth)
{
    odd(depth - 1);
    sink = sink + 1;
}

KEPT void odd(int depth)
{
    if (depth == 1)
        across();
    else
        even(depth - 1);
    sink = sink + 1;
}

KEPT void last()
{
    across();
    sink = sink + 1;
}

KEPT void hop()
{
    sink = sink + 1;
    last(); /* -O2 makes it a jump */
}

KEPT void on_signal(int)
{
    across();
    sink = sink + 1;
}

KEPT void raise_it()
{
    raise(SIGUSR1);
    sink = sink + 1;
}

KEPT void leaves(int depth)
{
    if (depth == 0)
        longjmp(back, 1);
    leaves(depth - 1);
    sink = sink + 1;
}

KEPT void jumps()
{
    if (setjmp(back) == 0)
        leaves(5);
    across();
    sink = sink + 1;
}

KEPT void undo()
{
    across();
    sink = sink + 1;
}

struct Guard {
    ~Guard() { undo(); }
};

KEPT void throws(int depth)
{
    if (depth == 0)
        throw depth;
    throws(depth - 1);
    sink = sink + 1;
}

KEPT void passes()
{
    Guard guard;
    throws(3);
    sink = sink + 1;
}

KEPT void catches()
{
    try {
        passes();
    } catch (int) {
        across();
    }
    sink = sink + 1;
}

KEPT void throws_again()
{
    try {
        throws(2);
    } catch (int) {
        throw 2.0;
    }
}

KEPT void rethrown()
{
    try {
        throws_again();
    } catch (double) {
        sink = sink + 1;
    }
    across();
    sink = sink + 1;
}

int main()
{
    signal(SIGUSR1, on_signal);
    for (int done = 0; done < 11; done++)
        middle();
    for (int done = 0; done < 7; done++)
        even(6);
    for (int done = 0; done < 5; done++)
        hop();
    for (int done = 0; done < 3; done++)
        raise_it();
    for (int done = 0; done < 4; done++)
        jumps();
    for (int done = 0; done < 6; done++)
        catches();
    for (int done = 0; done < 2; done++)
        rethrown();
    return 0;
}
