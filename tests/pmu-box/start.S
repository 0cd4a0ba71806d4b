# The first program of the box: a boot sector that jumps to what lies in
# memory already, which asks the BIOS for the memory map and enters the kernel
# in 64-bit mode as Documentation/arch/x86/boot.rst (64-bit boot protocol)
# says. Places are those of src/zero_page.rs.
.set PLACE, 0x90000             # the zero page
.set PROGRAM, 0x92000           # this program
.set ENTRY, 0x93000             # where the kernel is entered: 8 bytes
.set TABLES, 0x94000            # page tables

.section .boot,"ax"
.code16
    ljmp $(PROGRAM >> 4),$0
    .org 510
    .word 0xaa55

.section .start,"ax"
.code16
start:
    cli
    movw %cs,%ax
    movw %ax,%ds
    xorw %ax,%ax
    movw %ax,%ss
    movw $0x7000,%sp
    sti
    # INT 15h, E820h into e820_table (0x2d0), the count into e820_entries.
    movw $(PLACE >> 4),%ax
    movw %ax,%es
    xorl %ebx,%ebx
    movw $0x2d0,%di
    xorw %bp,%bp
1:  movl $0xe820,%eax
    movl $0x534d4150,%edx
    movl $20,%ecx
    int $0x15
    jc 2f
    cmpl $0x534d4150,%eax
    jne 2f
    incw %bp
    addw $20,%di
    testl %ebx,%ebx
    jnz 1b
2:  movw %bp,%ax
    movb %al,%es:0x1e8
    # Address line 20 on, and not the reset that is in the same port.
    inb $0x92,%al
    orb $2,%al
    andb $0xfe,%al
    outb %al,$0x92
    cli
    # No interrupts from the two 8259.
    movb $0xff,%al
    outb %al,$0x21
    outb %al,$0xa1
    lgdtl gdt_register - start
    movl %cr0,%eax
    orl $1,%eax
    movl %eax,%cr0
    ljmpl $0x20,$(PROGRAM + protected - start)
.code32
protected:
    movl $0x18,%eax
    movl %eax,%ds
    movl %eax,%es
    movl %eax,%ss
    movl %eax,%fs
    movl %eax,%gs
    movl %cr4,%eax
    orl $0x20,%eax              # PAE
    movl %eax,%cr4
    movl $TABLES,%eax
    movl %eax,%cr3
    movl $0xc0000080,%ecx       # EFER.LME
    rdmsr
    orl $0x100,%eax
    wrmsr
    movl %cr0,%eax
    orl $0x80000000,%eax
    movl %eax,%cr0
    ljmpl $0x10,$(PROGRAM + long - start)
.code64
long:
    xorl %ebp,%ebp
    xorl %edi,%edi
    xorl %ebx,%ebx
    movl $PLACE,%esi            # the zero page, as the protocol has it
    movl $ENTRY,%eax
    jmpq *(%rax)
    .balign 8
gdt:.quad 0, 0
    .quad 0x00af9a000000ffff    # 0x10 __BOOT_CS, 64-bit code
    .quad 0x00cf92000000ffff    # 0x18 __BOOT_DS, data
    .quad 0x00cf9a000000ffff    # 0x20 32-bit code, on the way
gdt_register:
    .word gdt_register - gdt - 1
    .long PROGRAM + gdt - start
