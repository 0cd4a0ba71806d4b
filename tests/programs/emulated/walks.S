/* walks: loops over memory whose misses can be counted by hand. Each is one
 * instruction that accesses memory, over and over; nothing else of the
 * program does, but for its first lines.
 *
 * stdout has the address of each loop's instruction, 8 bytes each, in the
 * order of the file. Built as accesses.S is. */

.set BUFFER, 0x10000000
.set place, 0

/* Each walk begins at a 64 MiB boundary of its own. */
.macro walk stride, count, rounds, instruction:vararg
    .set place, place + 1
    mov $\rounds, %ecx
1:  mov $BUFFER + place * 0x4000000, %ebx
    mov $\count, %edx
2:
    .pushsection .truth, "a", @progbits
    .quad 77f
    .popsection
77: \instruction
    add $\stride, %rbx
    dec %edx
    jnz 2b
    dec %ecx
    jnz 1b
.endm

/* Two instructions at one place; the second is told. */
.macro pair rounds, first, second
    mov $\rounds, %ecx
    mov $BUFFER + 0x2000000, %ebx
1:  \first
    .pushsection .truth, "a", @progbits
    .quad 77f
    .popsection
77: \second
    dec %ecx
    jnz 1b
.endm

.globl _start
.section .buf, "aw", @nobits
    .skip 0x40000000
.section .truth, "a", @progbits
truth:
.text
_start:
    mov $1, %eax                    /* write */
    mov $1, %edi
    lea truth(%rip), %rsi
    lea truth_end(%rip), %rdx
    sub %rsi, %rdx
    syscall

    /* 0, 1: as many lines of a set of 32K/8 as it has ways, and one more */
    walk 4096, 8, 100, mov (%rbx), %rax
    walk 4096, 9, 100, mov (%rbx), %rax
    /* 2, 3: as many lines as 32K/8 has, and sixteen more */
    walk 64, 512, 10, mov (%rbx), %rax
    walk 64, 528, 10, mov (%rbx), %rax
    /* 4, 5: eight accesses a line, over twice the cache; stores likewise */
    walk 8, 8192, 3, mov (%rbx), %rax
    walk 8, 8192, 3, mov %rax, (%rbx)
    /* 6: every sixteenth access in two lines */
    walk 12, 1600, 1, mov (%rbx), %rax
    /* 7: reads and writes one more line than the set has ways */
    walk 4096, 9, 50, addq $1, (%rbx)
    /* 8 to 11: 64 pages and 65, read and written, a line further in each */
    walk 4160, 64, 20, mov (%rbx), %rax
    walk 4160, 65, 20, mov (%rbx), %rax
    walk 4160, 64, 20, mov %rax, (%rbx)
    walk 4160, 65, 20, mov %rax, (%rbx)
    /* 12, 13: 512 pages and 520 */
    walk 4160, 512, 5, mov (%rbx), %rax
    walk 4160, 520, 5, mov (%rbx), %rax
    /* 14, 15: as many lines as 256K/8 has, and an eighth more */
    .set place, 1
    walk 64, 4096, 4, mov 0x2000000(%rbx), %rax
    walk 64, 4608, 4, mov 0x2000000(%rbx), %rax
    /* 16, 17: as many as 1M/16 has, and a sixteenth more */
    walk 64, 16384, 3, mov 0x2000000(%rbx), %rax
    walk 64, 17408, 3, mov 0x2000000(%rbx), %rax
    /* 18, 19: a load that needs bytes of an earlier, narrower store; and one
     * that needs less than was stored */
    pair 30, "movb $1, (%rbx)", "mov (%rbx), %rax"
    pair 30, "movq $1, (%rbx)", "mov 4(%rbx), %eax"
    /* 20, 21: 512 bytes at once, then a line in the midst of them */
    walk 512, 32, 3, fxsave (%rbx)
    .set place, place - 1
    walk 512, 32, 3, mov 192(%rbx), %rax

    mov $60, %eax
    xor %edi, %edi
    syscall
    ud2
.section .truth, "a", @progbits
truth_end:
