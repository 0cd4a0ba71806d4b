/* accesses: each kind of memory access and each addressing mode once, to a
 * line that nothing has touched, with all registers and flags pinned.
 *
 * stdout has the truth, written first: for each access 21 words of 8 bytes:
 * address of the instruction, address and size of the access, 0 for a load
 * and 1 for a store, flags, rax rcx rdx rbx rsp rbp rsi rdi r8 to r15.
 *
 * Built with -static -nostdlib -no-pie and the section .buf at 0x10000000;
 * with -DAVX2 and -DAVX512 where the processor has them. */

.set LOAD, 0
.set STORE, 1
.set FIRST, 0x10000000
.set SLOT, 0x2440                   /* other lines and pages, other sets */
.set STATUS, 0x8d5
.set case, 0

#define put(reg, value)  movabs $(value), %reg; .set P_##reg, value

/* A fresh slot, flags and registers of this case. */
.macro case_ flags
    .set case, case + 1
    .set AT, FIRST + case * SLOT + 256
    mov $stack_top, %rsp
    pushq $(\flags)
    popfq
    .set P_flags, (\flags) | 0x202
    put(rax, 0x1111111111110000 + case)
    put(rcx, 0x2222222222220000 + case)
    put(rdx, 0x3333333333330000 + case)
    put(rbx, 0x4444444444440000 + case)
    put(rsp, stack_top)
    put(rbp, 0x5555555555550000 + case)
    put(rsi, 0x6666666666660000 + case)
    put(rdi, 0x7777777777770000 + case)
    put(r8, 0x8888888888880000 + case)
    put(r9, 0x9999999999990000 + case)
    put(r10, 0xaaaaaaaaaaaa0000 + case)
    put(r11, 0xbbbbbbbbbbbb0000 + case)
    put(r12, 0xcccccccccccc0000 + case)
    put(r13, 0xdddddddddddd0000 + case)
    put(r14, 0xeeeeeeeeeeee0000 + case)
    put(r15, 0xffffffffffff0000 + case)
.endm

/* The instruction at the next `site` makes this access. */
#define expect(address, size, kind)                                             \
    .pushsection .truth, "a", @progbits;                                        \
    .quad 77f, address, size, kind, P_flags;                                    \
    .quad P_rax, P_rcx, P_rdx, P_rbx, P_rsp, P_rbp, P_rsi, P_rdi;               \
    .quad P_r8, P_r9, P_r10, P_r11, P_r12, P_r13, P_r14, P_r15;                 \
    .popsection

.macro site
77:
.endm

.globl _start
.section .buf, "aw", @nobits
buf:    .skip 0x600000
.bss
.balign 4096
stack:  .skip 65536
stack_top:
    .skip 4096
.data
/* Words with contents, each in lines of its own. */
.macro word label, value
    .balign 256
    .skip 64
\label: .quad \value
    .quad \value
.endm
    word to_call, after_call
    word to_jump, after_jump
    word to_return, after_return
    word to_return_more, after_return_more
    word pushed, 0x123456789abcdef0
    word flags_kept, 0x2d7
    .balign 256
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
    mov $158, %eax                  /* arch_prctl(ARCH_SET_FS) */
    mov $0x1002, %edi
    mov $FIRST + 0x500000, %esi
    syscall
    mov $158, %eax                  /* arch_prctl(ARCH_SET_GS) */
    mov $0x1001, %edi
    mov $FIRST + 0x580000, %esi
    syscall

/* ---- addressing modes, as loads */
    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 8, LOAD)
    site
    mov (%rbx), %rax

    case_ 0x001
    put(rcx, AT - 8)
    expect(AT, 8, LOAD)
    site
    mov 8(%rcx), %rcx

    case_ 0x040
    put(rdx, AT + 0x1000)
    expect(AT, 4, LOAD)
    site
    mov -0x1000(%rdx), %eax

    case_ 0x080
    put(rbx, AT)
    put(rcx, 24)
    expect(AT + 24, 8, LOAD)
    site
    mov (%rbx,%rcx), %rbx

    case_ 0x800
    put(rsi, AT)
    put(rdi, 5)
    expect(AT + 13, 1, LOAD)
    site
    mov 3(%rsi,%rdi,2), %ah

    case_ 0x0d5
    put(r8, AT + 0x100)
    put(r9, -16)
    expect(AT + 0x100 - 64, 2, LOAD)
    site
    mov (%r8,%r9,4), %r9w

    case_ 0x8d4
    put(r12, AT)
    put(r13, 2)
    expect(AT + 0x90, 8, LOAD)
    site
    add 0x80(%r12,%r13,8), %r12

    case_ 0x811
    put(r15, (AT) / 8)
    expect(AT - (AT) % 8, 8, LOAD)
    site
    mov (,%r15,8), %r15

    case_ 0x044
    put(r13, AT)
    expect(AT, 8, LOAD)
    site
    mov (%r13), %r14

    case_ 0x084
    put(r12, AT)
    expect(AT, 8, LOAD)
    site
    mov (%r12), %rsp

    case_ 0x015
    put(rbp, AT + 40)
    expect(AT + 32, 8, LOAD)
    site
    mov -8(%rbp), %rbp

    case_ 0x095
    put(rsp, AT)
    expect(AT + 16, 8, LOAD)
    site
    mov 16(%rsp), %rax

    case_ 0x091
    put(rsp, AT)
    put(rcx, 3)
    expect(AT + 24, 8, LOAD)
    site
    mov (%rsp,%rcx,8), %rcx

    case_ 0x8c5
    expect(AT, 8, LOAD)
    site
    mov AT, %rdi

    case_ 0x8c1
    expect(AT, 4, LOAD)
    site
    movabs AT, %eax

    case_ 0x8c0
    expect(buf + 0x400000, 8, LOAD)
    site
    mov buf + 0x400000(%rip), %r10

    case_ 0x0c0
    expect(buf + 0x400400, 8, STORE)
    site
    movq $77, buf + 0x400400(%rip)

    case_ 0x055
    put(rbx, 0xabcdef0100000000 + AT)
    expect(AT, 8, LOAD)
    site
    mov (%ebx), %rax

    case_ 0x054
    put(rbx, 0xfedcba98fffffff0)
    put(rcx, 0x1234567800000000 + (AT + 0x10) / 2)
    expect(((AT + 0x10) / 2) * 2 - 0x10, 4, LOAD)
    site
    mov (%ebx,%ecx,2), %ecx

    case_ 0x051
    expect(FIRST + 0x500000 + 0x40, 8, LOAD)
    site
    mov %fs:0x40, %rax

    case_ 0x050
    put(rax, 0x300)
    put(rcx, 4)
    expect(FIRST + 0x500000 + 0x328, 8, LOAD)
    site
    mov %fs:8(%rax,%rcx,8), %rax

    case_ 0x8d1
    put(rbx, -0x800)
    expect(FIRST + 0x500000 - 0x800, 8, STORE)
    site
    mov %rdx, %fs:(%rbx)

    case_ 0x8d0
    expect(FIRST + 0x580000 + 0x100, 8, LOAD)
    site
    mov %gs:0x100, %rcx

    case_ 0x810
    put(rcx, 0x400)
    expect(FIRST + 0x580000 + 0x408, 4, STORE)
    site
    addl $1, %gs:8(%rcx)

/* ---- sizes and places */
    case_ 0x8d5
    put(rbx, AT + 61)
    expect(AT + 61, 8, LOAD)             /* two lines */
    site
    mov (%rbx), %rax

    case_ 0x8d5
    put(rbx, AT + 0x3f)
    expect(AT + 0x3f, 4, STORE)          /* two lines */
    site
    mov %eax, (%rbx)

    case_ 0x8d5
    put(rbx, ((AT + 0x1000) & ~0xfff) - 3)
    expect(((AT + 0x1000) & ~0xfff) - 3, 8, LOAD) /* two pages */
    site
    mov (%rbx), %rax

    case_ 0x8d5
    put(rbx, AT + 3)
    expect(AT + 3, 4, LOAD)              /* not aligned, one line */
    site
    mov (%rbx), %eax

    case_ 0x001
    put(rsi, AT + 1)
    expect(AT + 1, 1, LOAD)
    site
    movzbl (%rsi), %eax

    case_ 0x001
    put(rsi, AT + 2)
    expect(AT + 2, 2, LOAD)
    site
    movswq (%rsi), %rax

    case_ 0x001
    put(rsi, AT + 4)
    expect(AT + 4, 4, LOAD)
    site
    movslq (%rsi), %rsi

/* ---- operations that read */
    case_ 0x0d5
    put(rdx, AT)
    expect(AT, 8, LOAD)
    site
    cmp (%rdx), %rax

    case_ 0x0d5
    put(rdx, AT)
    expect(AT, 1, LOAD)
    site
    testb $1, (%rdx)

    case_ 0x0d5
    put(rdx, AT)
    expect(AT, 8, LOAD)
    site
    imul (%rdx), %rdx

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 8, LOAD)
    site
    mulq (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 4, LOAD)
    site
    btl $5, (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    put(rax, 64 * 5 + 3)
    expect(AT + 40, 8, LOAD)
    site
    bt %rax, (%rbx)

    case_ 0x0d5
    put(rbx, AT + 0x100)
    put(rax, -65)
    expect(AT + 0x100 - 16, 8, STORE)
    site
    bts %rax, (%rbx)

    case_ 0x0d5
    put(rbx, AT + 0x100)
    put(rcx, 0xffffffff00000000 | 70)
    expect(AT + 0x108, 4, STORE)
    site
    lock btr %ecx, (%rbx)

    case_ 0x000
    put(rbx, AT)
    expect(AT, 8, LOAD)
    site
    cmove (%rbx), %rbx              /* not taken: reads all the same */

    case_ 0x000
    put(rbx, AT)
    expect(AT, 8, LOAD)
    site
    popcnt (%rbx), %rax

    case_ 0x041
    put(rbx, AT)
    expect(AT, 4, LOAD)
    site
    crc32l (%rbx), %eax

    case_ 0x041
    put(rbx, AT - 5)
    put(rax, 0xffffffffffffff05)     /* al: 5 */
    expect(AT, 1, LOAD)
    site
    xlatb

/* ---- operations that write */
    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 8, STORE)
    site
    mov %rbx, (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 2, STORE)
    site
    movw $3, (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 1, STORE)
    site
    setc (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 8, STORE)
    site
    movnti %rax, (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 8, STORE)
    site
    add %rbx, (%rbx)

    case_ 0x801
    put(rbx, AT)
    expect(AT, 8, STORE)
    site
    incq (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 1, STORE)
    site
    notb (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    put(rcx, 5)
    expect(AT, 4, STORE)
    site
    shll %cl, (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 8, STORE)
    site
    sbb %rax, (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 8, STORE)
    site
    xchg %rax, (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 8, STORE)
    site
    lock xadd %rax, (%rbx)

    case_ 0x8d5
    put(rbx, AT)
    put(rax, 0)
    expect(AT, 8, STORE)
    site
    lock cmpxchg %rcx, (%rbx)       /* equal */

    case_ 0x8d5
    put(rbx, AT)
    expect(AT, 4, STORE)
    site
    cmpxchg %ecx, (%rbx)            /* not equal */

    case_ 0x8d5
    put(rsi, AT)
    expect(AT, 8, STORE)
    site
    lock cmpxchg8b (%rsi)

    case_ 0x8d5
    put(rsi, AT & ~15)
    put(rax, 0)
    put(rdx, 0)
    expect(AT & ~15, 16, STORE)
    site
    lock cmpxchg16b (%rsi)

/* ---- the stack */
    case_ 0x8d5
    put(rsp, AT)
    expect(AT - 8, 8, STORE)
    site
    push %rsp

    case_ 0x8d5
    put(rsp, AT)
    expect(AT - 2, 2, STORE)
    site
    pushw %ax

    case_ 0x8d5
    put(rsp, AT)
    expect(AT, 8, LOAD)
    site
    pop %rsp

    case_ 0x8d5
    put(rsp, AT)
    expect(AT, 8, LOAD)
    site
    pop %r12

    case_ 0x8d5
    put(rsp, AT)
    expect(pushed, 8, LOAD)
    expect(AT - 8, 8, STORE)
    site
    pushq pushed(%rip)

    case_ 0x8d5
    put(rsp, AT)
    put(rcx, AT + 0x400)
    expect(AT, 8, LOAD)
    expect(AT + 0x408, 8, STORE)
    site
    popq 8(%rcx)

    case_ 0x8d5
    put(rsp, AT)
    expect(AT, 8, LOAD)
    expect(AT + 8 + 0x400, 8, STORE)     /* rsp as it is after the pop */
    site
    popq 0x400(%rsp)

    case_ 0x8d5
    put(rsp, AT)
    expect(AT + 0x400, 8, LOAD)          /* rsp as it is before the push */
    expect(AT - 8, 8, STORE)
    site
    pushq 0x400(%rsp)

    case_ 0x8d5
    put(rsp, AT)
    expect(AT - 8, 8, STORE)
    site
    call 1f
1:
    case_ 0x8d5
    put(rsp, AT)
    put(rax, 1f)
    expect(AT - 8, 8, STORE)
    site
    call *%rax
1:
    case_ 0x8d5
    put(rsp, AT)
    expect(to_call, 8, LOAD)
    expect(AT - 8, 8, STORE)
    site
    call *to_call(%rip)
after_call:
    case_ 0x8d5
    expect(to_jump, 8, LOAD)
    site
    jmp *to_jump(%rip)
after_jump:
    case_ 0x8d5
    put(rsp, to_return)
    expect(to_return, 8, LOAD)
    site
    ret
after_return:
    case_ 0x8d5
    put(rsp, to_return_more)
    expect(to_return_more, 8, LOAD)
    site
    ret $24
after_return_more:
    case_ 0x8d5
    put(rbp, AT)
    expect(AT, 8, LOAD)
    site
    leave

    case_ 0x8d5
    put(rsp, AT)
    expect(AT - 8, 8, STORE)
    site
    enter $64, $0

    case_ 0x8d5
    put(rsp, AT)
    expect(AT - 8, 8, STORE)
    site
    pushfq

    case_ 0x8d5
    put(rsp, flags_kept)
    expect(flags_kept, 8, LOAD)
    site
    popfq

/* ---- string instructions */
    case_ 0x0d5
    put(rsi, AT)
    put(rdi, AT + 0x400)
    expect(AT, 8, LOAD)
    expect(AT + 0x400, 8, STORE)
    site
    movsq

    case_ 0x4d5
    put(rsi, AT)
    put(rdi, AT + 0x400)
    expect(AT, 1, LOAD)
    expect(AT + 0x400, 1, STORE)
    site
    movsb

    case_ 0x0d5
    put(rdi, AT)
    expect(AT, 4, STORE)
    site
    stosl

    case_ 0x0d5
    put(rsi, AT)
    expect(AT, 8, LOAD)
    site
    lodsq

    case_ 0x0d5
    put(rdi, AT)
    expect(AT, 2, LOAD)
    site
    scasw

    case_ 0x0d5
    put(rsi, AT)
    put(rdi, AT + 0x400)
    expect(AT, 4, LOAD)
    expect(AT + 0x400, 4, LOAD)
    site
    cmpsl

    case_ 0x0d5
    put(rsi, 0xffffffff00000000 | AT)
    put(rdi, 0xeeeeeeee00000000 | (AT + 0x400))
    expect(AT, 4, LOAD)
    expect(AT + 0x400, 4, STORE)
    site
    addr32 movsl

    case_ 0x0d5
    put(rcx, 0)
    put(rsi, AT)
    put(rdi, AT + 0x400)
    site
    rep movsb                       /* none */

/* Each time the walk enters a line, in either direction. AT is aligned to 64
 * (SLOT is, and FIRST). */
    case_ 0x0d5
    put(rcx, 24)
    put(rsi, AT + 32)
    put(rdi, AT + 0x400)
    .set n, 0
    .rept 24
        .if (n == 0) || ((P_rsi & 63) == 0)
            expect(P_rsi, 8, LOAD)
        .endif
        .if (P_rdi & 63) == 0
            expect(P_rdi, 8, STORE)
        .endif
        .set n, n + 1
        .set P_rcx, P_rcx - 1
        .set P_rsi, P_rsi + 8
        .set P_rdi, P_rdi + 8
    .endr
    site
    rep movsq

    case_ 0x4d5
    put(rcx, 100)
    put(rsi, AT + 0x200)
    put(rdi, AT + 0x600 + 40)
    .set n, 0
    .rept 100
        .if (n == 0) || ((P_rsi & 63) == 63)
            expect(P_rsi, 1, LOAD)
        .endif
        .if (n == 0) || ((P_rdi & 63) == 63)
            expect(P_rdi, 1, STORE)
        .endif
        .set n, n + 1
        .set P_rcx, P_rcx - 1
        .set P_rsi, P_rsi - 1
        .set P_rdi, P_rdi - 1
    .endr
    site
    rep movsb                       /* backward */

    case_ 0x0d5
    put(rcx, 300)
    put(rdi, AT + 3)
    .set n, 0
    .rept 300
        .if (n == 0) || ((P_rdi & 63) == 0)
            expect(P_rdi, 1, STORE)
        .endif
        .set n, n + 1
        .set P_rcx, P_rcx - 1
        .set P_rdi, P_rdi + 1
    .endr
    site
    rep stosb

    case_ 0x4d5
    put(rcx, 30)
    put(rdi, AT + 0x100)
    .set n, 0
    .rept 30
        .if (n == 0) || ((P_rdi & 63) == 56)
            expect(P_rdi, 8, STORE)
        .endif
        .set n, n + 1
        .set P_rcx, P_rcx - 1
        .set P_rdi, P_rdi - 8
    .endr
    site
    rep stosq                       /* backward */

    case_ 0x0d5
    put(rcx, 40)
    put(rsi, AT + 3)
    .set n, 0
    .rept 40
        /* Elements of 4 bytes at odd addresses: one in sixteen in two lines. */
        .if (n == 0) || ((P_rsi & 63) > 60)
            expect(P_rsi, 4, LOAD)
        .endif
        .set n, n + 1
        .set P_rcx, P_rcx - 1
        .set P_rsi, P_rsi + 4
        .set P_rax, 0
    .endr
    site
    rep lodsl

    case_ 0x0d5
    put(rcx, 200)
    put(rdi, AT)
    put(rax, 0x1111111111111100)     /* al: 0, found at once without `repe` */
    .set n, 0
    .rept 200
        .if (P_rdi & 63) == 0
            expect(P_rdi, 1, LOAD)
        .endif
        .set P_flags, 0x246
        .set P_rcx, P_rcx - 1
        .set P_rdi, P_rdi + 1
    .endr
    site
    repe scasb

    case_ 0x0d5
    put(rcx, 50)
    put(rdi, AT)
    put(rax, 0)
    expect(AT, 8, LOAD)
    site
    repne scasq                     /* ends with the first */

    case_ 0x4d5
    put(rcx, 20)
    put(rsi, AT + 0x100)
    put(rdi, AT + 0x500)
    .set n, 0
    .rept 20
        .if (n == 0) || ((P_rsi & 63) == 56)
            expect(P_rsi, 8, LOAD)
            expect(P_rdi, 8, LOAD)
        .endif
        .set n, n + 1
        .set P_flags, 0x646
        .set P_rcx, P_rcx - 1
        .set P_rsi, P_rsi - 8
        .set P_rdi, P_rdi - 8
    .endr
    site
    repe cmpsq                      /* backward */

/* ---- floating point and vectors */
    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 4, LOAD)
    site
    flds (%rbx)

    case_ 0x0d5
    put(rbx, AT + 56)
    expect(AT + 56, 10, LOAD)
    site
    fldt (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 10, STORE)
    site
    fstpt (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 8, STORE)
    site
    fistpll (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 2, STORE)
    site
    fnstcw (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 4, STORE)
    site
    stmxcsr (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 8, LOAD)
    site
    movq (%rbx), %mm1

    case_ 0x0d5
    emms
    put(rbx, AT)
    expect(AT, 16, LOAD)
    site
    movaps (%rbx), %xmm1

    case_ 0x0d5
    put(rbx, AT + 57)
    expect(AT + 57, 16, LOAD)
    site
    movdqu (%rbx), %xmm15

    case_ 0x0d5
    put(rbx, AT + 1)
    expect(AT + 1, 16, STORE)
    site
    movups %xmm1, (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 16, STORE)
    site
    movntdq %xmm1, (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 8, LOAD)
    site
    addsd (%rbx), %xmm2

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 8, STORE)
    site
    movhpd %xmm2, (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 1, LOAD)
    site
    pinsrb $3, (%rbx), %xmm2

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 4, STORE)
    site
    pextrd $3, %xmm2, (%rbx)

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 4, LOAD)
    site
    cvtsi2sdl (%rbx), %xmm2

    case_ 0x0d5
    pcmpeqd %xmm3, %xmm3
    put(rdi, AT)
    expect(AT, 16, STORE)
    site
    maskmovdqu %xmm3, %xmm2

    case_ 0x0d5
    put(rdi, AT)
    expect(AT, 512, STORE)
    site
    fxsave64 (%rdi)

#ifdef AVX2
    case_ 0x0d5
    put(r9, AT + 48)
    expect(AT + 48, 32, LOAD)            /* two lines */
    site
    vmovdqu (%r9), %ymm1

    case_ 0x0d5
    put(r9, AT)
    expect(AT, 32, STORE)
    site
    vmovaps %ymm1, (%r9)

    case_ 0x0d5
    put(r9, AT)
    expect(AT, 4, LOAD)
    site
    vbroadcastss (%r9), %ymm1

    case_ 0x0d5
    put(r9, AT)
    expect(AT, 16, STORE)
    site
    vextracti128 $1, %ymm1, (%r9)

    case_ 0x0d5
    vpcmpeqd %ymm4, %ymm4, %ymm4
    put(r9, AT)
    expect(AT, 32, LOAD)
    site
    vmaskmovps (%r9), %ymm4, %ymm1

    case_ 0x0d5
    put(r9, AT)
    expect(AT, 32, STORE)
    site
    vpmaskmovd %ymm1, %ymm4, (%r9)

    vmovdqu mask64(%rip), %ymm4
    case_ 0x0d5
    put(r9, AT + 48)
    expect(AT + 56, 16, LOAD)           /* two lines */
    site
    vmaskmovpd (%r9), %ymm4, %ymm1
    vpcmpeqd %ymm4, %ymm4, %ymm4

    case_ 0x0d5
    put(rbx, AT)
    expect(AT, 8, LOAD)
    site
    mulx (%rbx), %rax, %rbx

    /* Gathers: elements 0x40 apart from an index vector; the elements whose
     * mask is clear are not read. */
    vmovdqu indices32(%rip), %ymm5
    case_ 0x0d5
    put(rbx, AT)
    expect(AT + 0x000, 4, LOAD)
    expect(AT + 0x0c0, 4, LOAD)
    expect(AT + 0x080, 4, LOAD)
    expect(AT + 0x040, 4, LOAD)
    expect(AT + 0x100, 4, LOAD)
    expect(AT + 0x1c0, 4, LOAD)
    expect(AT + 0x140, 4, LOAD)
    expect(AT + 0x180, 4, LOAD)
    site
    vpgatherdd %ymm4, (%rbx,%ymm5,4), %ymm6

    vmovdqu mask64(%rip), %ymm4
    vmovdqu indices64(%rip), %ymm5
    case_ 0x0d5
    put(r10, AT + 0x200)
    expect(AT + 0x208 - 0x80, 8, LOAD)
    expect(AT + 0x208 + 0x40, 8, LOAD)
    site
    vgatherqpd %ymm4, 8(%r10,%ymm5,8), %ymm6
    vzeroupper
#endif

#ifdef AVX512
    case_ 0x0d5
    put(r9, AT + 1)
    expect(AT + 1, 64, LOAD)             /* two lines */
    site
    vmovdqu64 (%r9), %zmm20

    case_ 0x0d5
    put(r9, AT)
    expect(AT, 64, STORE)
    site
    vmovaps %zmm20, (%r9)

    case_ 0x0d5
    put(r9, AT)
    expect(AT, 8, LOAD)
    site
    vaddpd (%r9){1to8}, %zmm20, %zmm21

    case_ 0x0d5
    kxnorw %k1, %k1, %k1
    put(r9, AT)
    expect(AT, 64, STORE)
    site
    vmovdqu32 %zmm20, (%r9){%k1}

    case_ 0x0d5
    mov $0x8000, %eax
    kmovw %eax, %k2
    put(rax, 0x8000)
    put(r9, AT)
    expect(AT + 60, 4, STORE)
    site
    vmovdqu32 %zmm20, (%r9){%k2}

    case_ 0x0d5
    kxorw %k2, %k2, %k2
    put(r9, AT)
    site
    vmovups (%r9), %zmm20{%k2}      /* none */

    vmovdqu32 indices32(%rip), %ymm16
    case_ 0x0d5
    kxnorw %k2, %k2, %k2
    put(r9, AT)
    expect(AT + 0x000, 4, STORE)
    expect(AT + 0x0c0, 4, STORE)
    expect(AT + 0x080, 4, STORE)
    expect(AT + 0x040, 4, STORE)
    expect(AT + 0x100, 4, STORE)
    expect(AT + 0x1c0, 4, STORE)
    expect(AT + 0x140, 4, STORE)
    expect(AT + 0x180, 4, STORE)
    site
    vpscatterdd %ymm20, (%r9,%ymm16,4){%k2}

    case_ 0x0d5
    mov $0x12, %eax
    kmovw %eax, %k2
    put(rax, 0x12)
    put(r9, AT)
    expect(AT + 0x0c0, 4, LOAD)
    expect(AT + 0x100, 4, LOAD)
    site
    vpgatherdd (%r9,%ymm16,4), %ymm20{%k2}
    vzeroupper
#endif

    mov $60, %eax
    xor %edi, %edi
    syscall
    ud2

.section .rodata
.balign 64
indices32: .long 0, 0x30, 0x20, 0x10, 0x40, 0x70, 0x50, 0x60
indices64: .quad 1, -0x10, 8, 3
mask64: .quad 0, -1, 0x8000000000000000, 0x7fffffffffffffff
.section .truth, "a", @progbits
truth_end:
