# Spans of loads, of stores, of branches and of adds, in an order and of
# lengths that are drawn. No C library; the same numbers give the same
# instructions in every run.
#
#   phases SEED SHORTEST LONGEST DIVISOR ROUNDS
#
# A round is ten instructions, whatever its kind: eight of the kind, and two
# that close the loop. A span is of SHORTEST to LONGEST rounds, divided by
# DIVISOR unless it is of adds; ROUNDS are all of them.
.globl _start
_start:
    mov (%rsp),%rax
    cmp $6,%rax                 # five numbers
    jne wrong
    mov 16(%rsp),%rsi
    call number
    mov %rax,%r12               # SEED
    mov 24(%rsp),%rsi
    call number
    mov %rax,%r13               # SHORTEST
    mov 32(%rsp),%rsi
    call number
    sub %r13,%rax
    lea 1(%rax),%r14            # lengths that there are
    mov 40(%rsp),%rsi
    call number
    mov %rax,%rbp               # DIVISOR
    mov 48(%rsp),%rsi
    call number
    mov %rax,%r15               # ROUNDS
    mov $place,%ebx
    # Small seeds have few bits: as many draws spread them.
    mov $16,%edi
1:  call draw
    dec %edi
    jnz 1b

span:
    call draw
    mov %r12,%rax
    shr $11,%rax
    xor %edx,%edx
    div %r14
    lea (%rdx,%r13),%rcx        # rounds of this span
    mov %r12,%rsi
    shr $5,%rsi
    and $3,%esi                 # its kind
    cmp $3,%esi
    je 1f
    mov %rcx,%rax
    xor %edx,%edx
    div %rbp
    lea 1(%rax),%rcx
1:  cmp %r15,%rcx
    cmova %r15,%rcx
    sub %rcx,%r15
    cmp $1,%esi
    jb loads
    je stores
    cmp $2,%esi
    je branches

adds:
    .rept 8
    add %rcx,%rax
    .endr
    dec %rcx
    jnz adds
    jmp next
loads:
    .rept 8
    mov (%rbx),%rax
    .endr
    dec %rcx
    jnz loads
    jmp next
stores:
    .rept 8
    mov %rax,(%rbx)
    .endr
    dec %rcx
    jnz stores
    jmp next
branches:
    .rept 8
    jmp 1f
1:
    .endr
    dec %rcx
    jnz branches
next:
    test %r15,%r15
    jnz span
    xor %edi,%edi
exit:
    mov $60,%eax
    syscall
wrong:
    mov $2,%edi
    jmp exit

# Marsaglia's xorshift of r12.
draw:
    mov %r12,%rax
    shl $13,%rax
    xor %rax,%r12
    mov %r12,%rax
    shr $7,%rax
    xor %rax,%r12
    mov %r12,%rax
    shl $17,%rax
    xor %rax,%r12
    ret

# The decimal number at rsi, into rax.
number:
    xor %eax,%eax
1:  movzbl (%rsi),%ecx
    sub $'0',%ecx
    jb 2f
    lea (%rax,%rax,4),%rax
    lea (%rcx,%rax,2),%rax
    inc %rsi
    jmp 1b
2:  ret

.bss
.balign 64
place:
    .skip 64
