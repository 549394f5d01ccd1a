package textfile

import (
	"slices"
)

// guess tells legacy encodings apart by how likely the letters are that each makes of the bytes. The costs are bits: what an
// encoding and its language need to spell the text, so that encodings with one byte and with two can be compared.
func guess(raw []byte, hints Hints) Encoding {
	ranked := rank(raw)
	if len(ranked) == 0 { // no model reads every byte
		return Encoding{name: "windows-1252", codec: legacy["windows-1252"], guessed: true, unsure: true}
	}
	best := ranked[0]
	close := func(c candidate) bool { return c.bits-best.bits < certain }
	doubt := len(ranked) > 1 && close(ranked[1])
	if doubt && hints.Others != nil {
		for _, other := range hints.Others() {
			i := slices.IndexFunc(ranked, func(c candidate) bool { return sameFamily(c.name, other) })
			if i >= 0 && close(ranked[i]) {
				best, doubt = ranked[i], false
				break
			}
		}
	}
	return Encoding{name: best.name, codec: legacy[best.name], guessed: true, unsure: doubt}
}

// certain is by how many bits the best guess must beat the next: the others are then some sixty times less likely.
const certain = 6

// sameFamily reports whether two encodings differ only in how much they can hold.
func sameFamily(a, b string) bool {
	family := func(s string) string {
		switch s {
		case "GBK":
			return "GB18030"
		case "ISO-8859-1":
			return "windows-1252"
		}
		return s
	}
	return family(a) == family(b)
}

// candidate is an encoding that can read the bytes, and what they cost in it.
type candidate struct {
	name string
	bits float64
}

// rank returns the encodings that read every byte, the likeliest first. Of encodings that mean the same by these bytes only the
// first is in the list.
func rank(raw []byte) []candidate {
	s := sample(raw)
	var out []candidate
	texts := map[string]bool{}
	for _, m := range models {
		enc := Encoding{name: m.name(s), codec: legacy[m.name(s)]}
		if !decodes(s, enc) || !decodes(raw, enc) {
			continue
		}
		text := string(Decode(s, enc).text)
		if bits, ok := m.cost(s, text); ok && !texts[text] {
			texts[text] = true
			out = append(out, candidate{enc.name, bits + m.prior})
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		switch {
		case a.bits < b.bits:
			return -1
		case a.bits > b.bits:
			return 1
		}
		return 0
	})
	return out
}
