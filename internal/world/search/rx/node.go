package rx

type op uint8

const (
	opEmpty  op = iota // the empty string
	opSet              // one rune of set
	opByte             // one byte of set, (?-u) only
	opLook             // a zero-width assertion
	opConcat           // subs in order
	opAlt              // one of subs, the first preferred
	opRepeat           // subs[0], min to max times
)

// look is a zero-width assertion; a set of them is a bit mask.
type look uint16

const (
	lookLineStart look = 1 << iota
	lookLineEnd
	lookTextStart
	lookTextEnd
	lookWord         // \b
	lookNotWord      // \B
	lookWordStart    // \< \b{start}
	lookWordEnd      // \> \b{end}
	lookHalfStart    // \b{start-half}
	lookHalfEnd      // \b{end-half}
	lookASCIIWord    // (?-u:\b)
	lookASCIINotWord // (?-u:\B)
)

// The assertions that need to know whether the neighbours are word characters.
const (
	unicodeWordLooks = lookWord | lookNotWord | lookWordStart | lookWordEnd | lookHalfStart | lookHalfEnd
	wordLooks        = unicodeWordLooks | lookASCIIWord | lookASCIINotWord
)

const unlimited = -1

// node is one node of the syntax tree. Groups leave no trace: nothing here
// captures.
type node struct {
	op       op
	set      set
	look     look
	subs     []*node
	min, max int // opRepeat; max may be unlimited
	lazy     bool
}

func concat(subs ...*node) *node {
	switch len(subs) {
	case 0:
		return &node{op: opEmpty}
	case 1:
		return subs[0]
	}
	return &node{op: opConcat, subs: subs}
}
