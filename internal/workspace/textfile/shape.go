package textfile

// shape is how the bytes beyond ASCII are spread in a text. Accented letters come one or two at a time, next to plain ones;
// the characters of two bytes come in long runs.
type shape struct {
	bytes int // that are not blank
	high  int // beyond ASCII
	runs  int // of bytes beyond ASCII
	short int // runs that look like accented letters or single signs
	c1    int // bytes from 80 to 9F, which windows-1252 has and Latin-1 has not
	kana  int // pairs of bytes that are Japanese syllables in Shift_JIS
}

func shapeOf(b []byte) shape {
	var s shape
	for i := 0; i < len(b); {
		if b[i] > ' ' {
			s.bytes++
		}
		if b[i] < 0x80 {
			i++
			continue
		}
		end := i
		for end < len(b) && b[end] >= 0x80 {
			end++
		}
		s.add(b, i, end)
		s.bytes += end - i - 1
		i = end
	}
	return s
}

// add counts the run b[from:to].
func (s *shape) add(b []byte, from, to int) {
	s.runs++
	s.high += to - from
	for i := from; i < to; i++ {
		if b[i] < 0xA0 {
			s.c1++
		}
		if i+1 < len(b) && (b[i] == 0x82 && b[i+1] >= 0x9F || b[i] == 0x83 && b[i+1] >= 0x40) {
			s.kana++
		}
	}
	lead := b[from] >= 0x81 && b[from] <= 0x83 // begins most of what Shift_JIS writes, and little in windows-1252
	beside := from > 0 && letter(b[from-1]) || to < len(b) && letter(b[to])
	if !lead && (to-from == 1 || to-from == 2 && beside) {
		s.short++
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (s shape) westernName() string {
	if s.c1 > 0 {
		return "windows-1252"
	}
	return "ISO-8859-1"
}
