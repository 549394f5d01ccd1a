//go:build !purego

#include "textflag.h"

// func window3(p *byte, n int, t *[96]byte) (i int, mask uint32)
//
// Y0-Y5 hold the tables, Y6 the nibble mask, Y13 zero.
TEXT ·window3(SB), NOSPLIT, $0-36
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ t+16(FP), DX
	VBROADCASTI128 0(DX), Y0
	VBROADCASTI128 16(DX), Y1
	VBROADCASTI128 32(DX), Y2
	VBROADCASTI128 48(DX), Y3
	VBROADCASTI128 64(DX), Y4
	VBROADCASTI128 80(DX), Y5
	MOVQ $0x0F0F0F0F0F0F0F0F, AX
	VMOVQ AX, X6
	VPBROADCASTQ X6, Y6
	VPXOR Y13, Y13, Y13
	XORQ AX, AX

loop:
	CMPQ AX, CX
	JGE  none
	VMOVDQU 0(SI)(AX*1), Y7
	VMOVDQU 1(SI)(AX*1), Y8
	VMOVDQU 2(SI)(AX*1), Y9

	VPAND   Y6, Y7, Y10
	VPSRLW  $4, Y7, Y7
	VPAND   Y6, Y7, Y7
	VPSHUFB Y10, Y0, Y10
	VPSHUFB Y7, Y1, Y7
	VPAND   Y7, Y10, Y10

	VPAND   Y6, Y8, Y11
	VPSRLW  $4, Y8, Y8
	VPAND   Y6, Y8, Y8
	VPSHUFB Y11, Y2, Y11
	VPSHUFB Y8, Y3, Y8
	VPAND   Y8, Y11, Y11

	VPAND   Y6, Y9, Y12
	VPSRLW  $4, Y9, Y9
	VPAND   Y6, Y9, Y9
	VPSHUFB Y12, Y4, Y12
	VPSHUFB Y9, Y5, Y9
	VPAND   Y9, Y12, Y12

	VPAND     Y10, Y11, Y10
	VPAND     Y10, Y12, Y10
	VPCMPEQB  Y13, Y10, Y10
	VPMOVMSKB Y10, BX
	XORL      $0xFFFFFFFF, BX
	JNZ       done
	ADDQ      $32, AX
	JMP       loop

none:
	XORL BX, BX

done:
	VZEROUPPER
	MOVQ AX, i+24(FP)
	MOVL BX, mask+32(FP)
	RET

// Both literals at once: Y0-Y2 hold the bytes of one, Y3-Y5 of the other, and res gets
// 0xFF for each place within 32 of off(SI)(AX) that begins either.
#define EITHER(off, res) \
	VMOVDQU  off+0(SI)(AX*1), Y7 \
	VMOVDQU  off+1(SI)(AX*1), Y8 \
	VMOVDQU  off+2(SI)(AX*1), Y9 \
	VPCMPEQB Y7, Y0, res         \
	VPCMPEQB Y8, Y1, Y11         \
	VPCMPEQB Y9, Y2, Y12         \
	VPAND    Y11, res, res       \
	VPAND    Y12, res, res       \
	VPCMPEQB Y7, Y3, Y7          \
	VPCMPEQB Y8, Y4, Y8          \
	VPCMPEQB Y9, Y5, Y9          \
	VPAND    Y8, Y7, Y7          \
	VPAND    Y9, Y7, Y7          \
	VPOR     Y7, res, res

// func either3(p *byte, n int, t *[6]byte) (i int, mask uint32)
TEXT ·either3(SB), NOSPLIT, $0-36
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ t+16(FP), DX
	VPBROADCASTB 0(DX), Y0
	VPBROADCASTB 1(DX), Y1
	VPBROADCASTB 2(DX), Y2
	VPBROADCASTB 3(DX), Y3
	VPBROADCASTB 4(DX), Y4
	VPBROADCASTB 5(DX), Y5
	XORQ AX, AX
	SUBQ $32, CX

pair:
	CMPQ AX, CX
	JGE  last
	EITHER(0, Y10)
	EITHER(32, Y13)
	VPOR  Y10, Y13, Y14
	VPTEST Y14, Y14
	JNZ   which
	ADDQ  $64, AX
	JMP   pair

last:
	ADDQ $32, CX
	CMPQ AX, CX
	JGE  none
	EITHER(0, Y10)
	VPMOVMSKB Y10, BX
	TESTL BX, BX
	JNZ  done
	ADDQ $32, AX

none:
	XORL BX, BX
	JMP  done

which:
	VPMOVMSKB Y10, BX
	TESTL BX, BX
	JNZ  done
	ADDQ $32, AX
	VPMOVMSKB Y13, BX

done:
	VZEROUPPER
	MOVQ AX, i+24(FP)
	MOVL BX, mask+32(FP)
	RET
