package edits

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// notFound explains a miss: line numbers copied from Read, or the nearest block and where it differs.
func notFound(t *textfile.Text, e Edit, i int) *refusal {
	for _, form := range numberings {
		cleaned, ok := form.strip(e.Old)
		if !ok {
			continue
		}
		text := "old_string begins its lines with the line numbers that " + form.tools + "; they are not part of the file."
		if len(find(t, cleaned).matches) > 0 {
			text += " Without them it is found. Send the edit again with this old_string (and no line numbers in new_string):\n" + cleaned
		} else if form.common {
			continue
		} else {
			text += " Without them it is not found either: read the file again and copy the text after the tab."
		}
		return &refusal{kind: kindLineNumbers, Edit: i + 1, text: text}
	}
	text := "old_string was not found in the file."
	if near := nearest(t.Bytes(), e.Old); near != "" {
		text += " " + near + "\nSend old_string exactly as it is in the file."
	} else {
		text += " Nothing in the file resembles it: read the file again, or check the path."
	}
	return &refusal{kind: kindNotFound, Edit: i + 1, text: text}
}

// nearest describes the block of the text that resembles old most, or returns "".
func nearest(text []byte, old string) string {
	have := textLines(text)
	want := textLines([]byte(strings.TrimSuffix(string(normalize([]byte(old))), "\n")))
	at := bestBlock(have, want)
	if at < 0 {
		return ""
	}
	var b strings.Builder
	shown, differing := 0, 0
	const most = 6
	for i, w := range want {
		h := "(the file ends before this line)"
		if at+i < len(have) {
			h = have[at+i]
		}
		if i == len(want)-1 && strings.HasPrefix(h, w) || h == w {
			continue
		}
		differing++
		if shown < most {
			shown++
			fmt.Fprintf(&b, "\nline %d\n  file:       %s\n  old_string: %s%s", at+i+1, visible(h), visible(w), difference(h, w))
		}
	}
	if differing > shown {
		fmt.Fprintf(&b, "\n… and %s more", count(differing-shown, "line"))
	}
	return fmt.Sprintf("The nearest text is at %s; %s (→ is a tab, · a space at the start or end of a line, ␍ a carriage return):%s",
		lineRange(at+1, min(at+len(want), len(have))), count(differing, "differing line"), b.String())
}

func lineRange(from, to int) string {
	if from == to {
		return fmt.Sprintf("line %d", from)
	}
	return fmt.Sprintf("lines %d-%d", from, to)
}

// textLines splits at \n; the \r of a \r\n goes with it.
func textLines(text []byte) []string {
	var out []string
	for _, l := range fileLines(text) {
		out = append(out, string(text[l.start:l.end]))
	}
	return out
}

// bestBlock returns the line of have where want fits best, or -1. Lines that are equal but for blanks and look-alikes vote for
// a start, rare ones with more weight; without any, the line most similar to the first long line of want decides.
func bestBlock(have, want []string) int {
	where := map[string][]int{}
	for i, h := range have {
		if f := fold(h); f != "" {
			where[f] = append(where[f], i)
		}
	}
	votes := map[int]float64{}
	for k, w := range want {
		places := where[fold(w)]
		for _, i := range places[:min(len(places), 50)] {
			votes[max(i-k, 0)] += 1 / float64(len(places))
		}
	}
	best, score := -1, 0.0
	for at, v := range votes {
		if v > score || v == score && at < best {
			best, score = at, v
		}
	}
	if best >= 0 {
		return best
	}
	return mostSimilar(have, want)
}

// fold makes lines comparable: no blanks, and look-alike quotes and dashes as one. For showing what is near, never for matching.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || r == '\u00a0' || unicode.Is(unicode.Cf, r):
			return -1
		case strings.ContainsRune("‘’‚′`´", r):
			return '\''
		case strings.ContainsRune("“”„″", r):
			return '"'
		case strings.ContainsRune("‐‑‒–—−", r):
			return '-'
		}
		return r
	}, s)
}

// searchLines bounds the similarity search: a hint must not cost more than the edit.
const searchLines = 20_000

func mostSimilar(have, want []string) int {
	k := slices.IndexFunc(want, func(w string) bool { return len(fold(w)) >= 4 })
	if k < 0 {
		return -1
	}
	target := bigrams(fold(want[k]))
	best, score := -1, 0.5
	for i, h := range have[:min(len(have), searchLines)] {
		if s := similarity(target, bigrams(fold(h))); s > score {
			best, score = i, s
		}
	}
	if best < 0 {
		return -1
	}
	return max(best-k, 0)
}

// bigrams counts pairs of bytes in the first 200.
func bigrams(s string) map[[2]byte]int {
	out := map[[2]byte]int{}
	for i := 0; i+1 < min(len(s), 200); i++ {
		out[[2]byte{s[i], s[i+1]}]++
	}
	return out
}

// similarity is Dice's coefficient of two bags of bigrams.
func similarity(a, b map[[2]byte]int) float64 {
	shared, total := 0, 0
	for k, n := range a {
		shared += min(n, b[k])
		total += n
	}
	for _, n := range b {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(shared) / float64(total)
}
