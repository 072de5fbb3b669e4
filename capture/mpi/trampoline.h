/* trampoline.h: macros for the generated trampolines.S (assembler, not C).
 *
 * A trampoline jumps to what its slot holds. Slots are zero until the first call; then
 * tailrace_resolve() says where to go, with all argument registers as the caller left them. All are
 * TRAMPOLINE_BYTES long (bind.h), so that the address follows from the number. None is exported: a
 * program must not find an MPI function that its MPI does not have.
 */
#if defined(__x86_64__)

.macro TRAMPOLINE name number
    .type \name, @function
    .p2align 5
\name:
    .cfi_startproc
    movq tailrace_slots+8*\number(%rip), %r11
    testq %r11, %r11
    jz 1f
    jmp *%r11
1:  movl $\number, %r11d
    jmp tailrace_lazy
    .cfi_endproc
    .size \name, .-\name
.endm

/* dlopen and dlsym take two arguments and depend on who calls them: `choose` is told the caller and
 * says which function to jump to, as if the caller had called that. */
.macro LOADER_CALL name choose
    .globl \name
    .hidden \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rdi
    pushq %rsi
    movq 8(%rbp), %rdx
    call \choose
    popq %rsi
    popq %rdi
    popq %rbp
    .cfi_def_cfa %rsp, 8
    jmp *%rax
    .cfi_endproc
    .size \name, .-\name
.endm

/* Number in r11d; the caller's return address is on top of the stack. */
.macro TRAMPOLINES_BEGIN
    .text
    .type tailrace_lazy, @function
tailrace_lazy:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
    movq %rdi, -8(%rbp)
    movq %rsi, -16(%rbp)
    movq %rdx, -24(%rbp)
    movq %rcx, -32(%rbp)
    movq %r8, -40(%rbp)
    movq %r9, -48(%rbp)
    movq %rax, -56(%rbp)
    movups %xmm0, -80(%rbp)
    movups %xmm1, -96(%rbp)
    movups %xmm2, -112(%rbp)
    movups %xmm3, -128(%rbp)
    movups %xmm4, -144(%rbp)
    movups %xmm5, -160(%rbp)
    movups %xmm6, -176(%rbp)
    movups %xmm7, -192(%rbp)
    movl %r11d, %edi
    call tailrace_resolve
    movq %rax, %r11
    movq -8(%rbp), %rdi
    movq -16(%rbp), %rsi
    movq -24(%rbp), %rdx
    movq -32(%rbp), %rcx
    movq -40(%rbp), %r8
    movq -48(%rbp), %r9
    movq -56(%rbp), %rax
    movups -80(%rbp), %xmm0
    movups -96(%rbp), %xmm1
    movups -112(%rbp), %xmm2
    movups -128(%rbp), %xmm3
    movups -144(%rbp), %xmm4
    movups -160(%rbp), %xmm5
    movups -176(%rbp), %xmm6
    movups -192(%rbp), %xmm7
    leave
    .cfi_def_cfa %rsp, 8
    jmp *%r11
    .cfi_endproc
    .size tailrace_lazy, .-tailrace_lazy
    LOADER_CALL tailrace_dlopen tailrace_choose_dlopen
    LOADER_CALL tailrace_dlsym tailrace_choose_dlsym
    TRAMPOLINES_LABEL
.endm

#elif defined(__aarch64__)

.macro TRAMPOLINE name number
    .type \name, %function
    .p2align 5
\name:
    .cfi_startproc
    adrp x16, tailrace_slots+8*\number
    ldr x16, [x16, #:lo12:tailrace_slots+8*\number]
    cbz x16, 1f
    br x16
1:  mov w17, #\number
    b tailrace_lazy
    .cfi_endproc
    .size \name, .-\name
.endm

/* As above. */
.macro LOADER_CALL name choose
    .globl \name
    .hidden \name
    .type \name, %function
    .p2align 2
\name:
    .cfi_startproc
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    stp x0, x1, [sp, #16]
    mov x2, x30
    bl \choose
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size \name, .-\name
.endm

/* Number in w17; the caller's return address is in x30. */
.macro TRAMPOLINES_BEGIN
    .text
    .type tailrace_lazy, %function
tailrace_lazy:
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset x29, -224
    .cfi_offset x30, -216
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov w0, w17
    bl tailrace_resolve
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size tailrace_lazy, .-tailrace_lazy
    LOADER_CALL tailrace_dlopen tailrace_choose_dlopen
    LOADER_CALL tailrace_dlsym tailrace_choose_dlsym
    TRAMPOLINES_LABEL
.endm

#else
#error "Tailrace's trampolines are written for x86-64 and aarch64."
#endif

.macro TRAMPOLINES_LABEL
    .globl tailrace_trampolines
    .hidden tailrace_trampolines
    .p2align 5
tailrace_trampolines:
.endm

.macro TRAMPOLINES_END
    .globl tailrace_trampolines_end
    .hidden tailrace_trampolines_end
    .p2align 5
tailrace_trampolines_end:
.endm

/* Where each name begins, in the order of the numbers, and then the names. */
.macro NAMES_BEGIN
    .section .rodata
    .p2align 2
    .globl tailrace_symbol_places
    .hidden tailrace_symbol_places
tailrace_symbol_places:
.endm

.macro PLACE number
    .long .Ltailrace_name_\number - tailrace_symbol_places
.endm

.macro NAME name number
.Ltailrace_name_\number:
    .asciz "\name"
.endm

.macro NAMES_END count
    .p2align 2
    .globl tailrace_symbol_count
    .hidden tailrace_symbol_count
tailrace_symbol_count:
    .long \count
    .bss
    .p2align 3
    .globl tailrace_slots
    .hidden tailrace_slots
tailrace_slots:
    .zero 8*\count
    .section .note.GNU-stack, "", %progbits
.endm
