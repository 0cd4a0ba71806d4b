# A program whose every access is known: no C library, no argument, no stack.
#
# It writes NODES nodes, 8 KiB apart from each other and so all in one set of
# the first cache, and walks them ROUNDS times from one to the next. Its
# stores are two for each node, and one; its loads two for each round, the
# first of which (at `miss`) misses the cache, and the second (at `hit`) finds
# the line there. At both, rcx holds the rounds that are left, this one
# included, rdi the node at `miss` and the next one after `hit`, rsi after
# `miss` the node's number, rdx the sum of the numbers before, and rbx, rbp
# and r8 to r15 what they were set to.
#
# The others of its kind are made of it: programs/variants.
#   WAITS: tells `ready` on stdout, and waits for a line on stdin first
#   CHILDREN: forks so many first, which do the same walk
#   CALLS: asks the kernel so many times for its parent's number first: a
#     hundred instructions and more of the kernel's for each
#ifndef ROUNDS
#define ROUNDS 20000
#endif
#define NODES 256
#define ARENA 0x200000000000
#define APART 0x2000

.globl _start, miss, hit
_start:
    mov $9,%eax                 # mmap
    movabs $ARENA,%rdi
    mov $(NODES * APART),%esi
    mov $3,%edx                 # PROT_READ | PROT_WRITE
    mov $0x8032,%r10d           # MAP_PRIVATE | ANONYMOUS | FIXED | POPULATE
    mov $-1,%r8
    xor %r9d,%r9d
    syscall
    mov %rax,%rdi
    xor %ecx,%ecx
1:  lea APART(%rdi),%rdx
    mov %rcx,8(%rdi)
    mov %rdx,(%rdi)
    mov %rdx,%rdi
    inc %ecx
    cmp $NODES,%ecx
    jne 1b
    sub $APART,%rdi             # the last one points to the first
    movabs $ARENA,%rdx
    mov %rdx,(%rdi)
#ifdef WAITS
    mov $1,%eax                 # write
    mov $1,%edi
    mov $ready,%esi
    mov $6,%edx
    syscall
    xor %eax,%eax               # read, over the bytes that were written
    xor %edi,%edi
    mov $line,%esi
    mov $1,%edx
    syscall
#endif
#ifdef CALLS
    mov $CALLS,%ebx
1:  mov $110,%eax               # getppid
    syscall
    dec %ebx
    jnz 1b
#endif
#ifdef CHILDREN
    mov $CHILDREN,%ebx
1:  mov $57,%eax                # fork
    syscall
    test %eax,%eax
    jz walk
    dec %ebx
    jnz 1b
#endif
walk:
    movabs $ARENA,%rdi
    mov $0xb0b0,%ebx
    mov $0xb1b1,%ebp
    mov $0x0808,%r8d
    mov $0x0909,%r9d
    mov $0x1010,%r10d
    mov $0x1111,%r11d
    mov $0x1212,%r12d
    mov $0x1313,%r13d
    mov $0x1414,%r14d
    mov $0x1515,%r15d
    xor %edx,%edx
    mov $ROUNDS,%ecx
    jmp 2f
    .org _start + 0x200         # the same place in all variants
2:
miss:
    mov 8(%rdi),%rsi
hit:
    mov (%rdi),%rdi
    add %rsi,%rdx
    dec %ecx
    jnz 2b
#ifdef CHILDREN
1:  mov $61,%eax                # wait4, until there is none: in children, too
    mov $-1,%rdi
    xor %esi,%esi
    xor %edx,%edx
    xor %r10d,%r10d
    syscall
    test %rax,%rax
    jns 1b
#endif
    xor %edi,%edi
    mov $60,%eax                # exit
    syscall

#ifdef WAITS
.section .rodata
ready:
    .ascii "ready\n"
.bss
line:
    .skip 1
#endif
