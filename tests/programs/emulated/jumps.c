/* jumps: control flow that no compiler's call and return make: longjmp,
 * contexts, returns to other places, jumps into an instruction, tables. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static jmp_buf back;
static ucontext_t first, second;
static int switches;
static char stack[65536];

__attribute__((noinline)) static void deep(int n)
{
    if (n == 0)
        longjmp(back, 5);
    volatile char room[100];
    room[n % 100] = 1;
    deep(n - 1);
    room[0]++;
}

static void other(void)
{
    for (;;) {
        switches++;
        swapcontext(&second, &first);
    }
}

/* push; ret as a jump; a call whose return address is changed; a jump into
 * the immediate of an instruction. */
static uint64_t odd_returns(uint64_t n)
{
    uint64_t sum;
    __asm__ volatile(
        "xor %%eax, %%eax\n"
        "1: lea 2f(%%rip), %%rdx\n push %%rdx\n ret\n ud2\n"
        "2: call 3f\n ud2\n ud2\n jmp 4f\n"
        "3: add $4, %%rax\n addq $4, (%%rsp)\n ret\n"
        "4: lea 5f+1(%%rip), %%rdx\n jmp *%%rdx\n"
        "5: .byte 0xb9, 0x48, 0x83, 0xc0, 0x10\n" /* mov ecx, imm32: inside: add rax, 16 */
        "lea 6f(%%rip), %%rdx\n mov %%rdx, -8(%%rsp)\n jmp *-8(%%rsp)\n ud2\n"
        "6: dec %1\n jnz 1b\n"
        : "=&a"(sum), "+r"(n)
        :
        : "rcx", "rdx", "memory", "cc");
    return sum;
}

static int f0(int x) { return x + 1; }
static int f1(int x) { return x * 3; }
static int f2(int x) { return x ^ 0x55; }
static int f3(int x) { return x - 7; }
static int (*volatile table[4])(int) = {f0, f1, f2, f3};

static int machine(const unsigned char *code, int steps)
{
    static void *const labels[] = {&&add, &&mul, &&rot, &&neg};
    unsigned value = 1;
    int pc = 0;
    goto *labels[code[pc]];
add:
    value += 12345;
    goto next;
mul:
    value *= 2654435761u;
    goto next;
rot:
    value = value << 7 | value >> 25;
    goto next;
neg:
    value = ~value;
next:
    if (--steps == 0)
        return (int)value;
    pc = (pc + 1) & 1023;
    goto *labels[code[pc]];
}

int main(void)
{
    volatile int jumps = 0;
    for (volatile int i = 0; i < 200; i++)
        if (setjmp(back) == 5)
            jumps++;
        else
            deep(i);
    getcontext(&second);
    second.uc_stack.ss_sp = stack;
    second.uc_stack.ss_size = sizeof stack;
    makecontext(&second, other, 0);
    for (int i = 0; i < 1000; i++)
        swapcontext(&first, &second);
    int x = 1;
    for (int i = 0; i < 100000; i++)
        x = table[(x ^ i) & 3](x);
    unsigned char code[1024];
    unsigned seed = 1;
    for (int i = 0; i < 1024; i++)
        code[i] = (seed = seed * 1103515245 + 12345) >> 16 & 3;
    printf("jumps %d switches %d returns %llu table %d machine %d\n", jumps, switches,
           (unsigned long long)odd_returns(1000), x, machine(code, 1000000));
    return 0;
}
