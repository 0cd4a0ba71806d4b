# A program whose calls are known, for those who record them: no C library, no
# argument. One load misses the first cache: the first instruction of `leaf`,
# which is called in all the ways below once a round, and as often each. The
# nodes that it walks are those of walk.S. Its instructions behind that load
# are as many as an interrupt may be late.
#
# A child does the same, and both make way for the other in the middle of
# calls.
#define ROUNDS 800
#define NODES 256
#define ARENA 0x200000000000
#define APART 0x2000
#define FEW 5
#define MANY 40                 /* more calls than any CPU keeps */

.macro routine name
    .globl \name
    .type \name, @function
\name:
.endm
.macro ended name
    .size \name, . - \name
.endm

routine leaf
    mov 8(%rdi),%rsi            # misses
    mov (%rdi),%rdi             # the line is there
    .rept 24
    nop
    .endr
    ret
ended leaf

routine plain
    call leaf
    ret
ended plain

routine pointed                 # is called by a pointer
    call leaf
    ret
ended pointed

routine left                    # is left by a jump, not by a call
    jmp leaf
ended left

routine make_way
    mov $24,%eax                # sched_yield
    syscall
    ret
ended make_way

routine waits
    call make_way
    call leaf
    ret
ended waits

routine deep                    # calls itself as often as edx says, less one
    dec %edx
    jz 1f
    call deep
    ret
1:  call make_way
    call leaf
    ret
ended deep

routine spent                   # calls deeper than any CPU keeps, then again
    mov $MANY,%edx
    call deep
    call leaf
    ret
ended spent

routine _start
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
    mov $57,%eax                # fork
    syscall
    mov %rax,%rbp
    movabs $ARENA,%rdi
    mov $pointed,%r12d
    mov $ROUNDS,%ebx
1:  call plain
    call *%r12
    call left
    call waits
    mov $FEW,%edx
    call deep
    call spent                  # and deep by it
    dec %ebx
    jnz 1b
    test %rbp,%rbp
    jz 2f
    mov $61,%eax                # wait4
    mov $-1,%rdi
    xor %esi,%esi
    xor %edx,%edx
    xor %r10d,%r10d
    syscall
2:  xor %edi,%edi
    mov $60,%eax                # exit
    syscall
ended _start
