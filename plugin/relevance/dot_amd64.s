#include "textflag.h"

// func dotAVX2(a, b *int8, n int) int32
// Sign-extends 16 weights at a time to int16, multiplies, and adds pairs up as int32, on two
// sums so that one addition need not wait for the other. n is a multiple of 32, above 0.
TEXT ·dotAVX2(SB), NOSPLIT, $0-28
	MOVQ a+0(FP), AX
	MOVQ b+8(FP), BX
	MOVQ n+16(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y3, Y3, Y3

loop:
	VPMOVSXBW (AX), Y1
	VPMOVSXBW (BX), Y2
	VPMADDWD Y1, Y2, Y1
	VPADDD Y1, Y0, Y0
	VPMOVSXBW 16(AX), Y4
	VPMOVSXBW 16(BX), Y5
	VPMADDWD Y4, Y5, Y4
	VPADDD Y4, Y3, Y3
	ADDQ $32, AX
	ADDQ $32, BX
	SUBQ $32, CX
	JNZ loop

	VPADDD Y3, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDD X1, X0, X0
	VPSRLDQ $4, X0, X1
	VPADDD X1, X0, X0
	VMOVD X0, AX
	VZEROUPPER
	MOVL AX, ret+24(FP)
	RET
