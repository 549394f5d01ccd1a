package knowledge

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Entry is a line of a menu.
type Entry struct {
	Name string
	// Text says what it is for; "" means that the name says it.
	Text string
}

// DefaultBudget is the default maximum size of a menu, in characters. It is small
// because the menu is part of every request.
const DefaultBudget = 8_000

// maxLine is how long the text of an entry is at most, however much room there is.
const maxLine = 1_000

// Menu lists the entries, a line each, in at most budget characters; 0 means
// [DefaultBudget]. If they do not fit, the longest texts are shortened first, all
// to the same length; if the names alone do not fit, the last are left out and
// counted. It is stable: the same entries make the same menu.
func Menu(entries []Entry, budget int) string {
	if budget <= 0 {
		budget = DefaultBudget
	}
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = strings.Join(strings.Fields(e.Text), " ")
	}
	shown := fit(entries, budget)
	limit := textLimit(entries[:shown], texts, budget)
	var b strings.Builder
	for i, e := range entries[:shown] {
		b.WriteString("- " + e.Name)
		if text := shorten(texts[i], limit); text != "" {
			b.WriteString(": " + text)
		}
		b.WriteByte('\n')
	}
	if rest := len(entries) - shown; rest > 0 {
		b.WriteString(leftOut(rest))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// perLine is what a line takes beside its name and text: "- ", ": " and its end.
const perLine = 5

func leftOut(n int) string { return fmt.Sprintf("(and %d more, not listed for lack of space)\n", n) }

// fit returns how many names there is room for.
func fit(entries []Entry, budget int) int {
	used := 0
	for i, e := range entries {
		used += utf8.RuneCountInString(e.Name) + perLine
		if used > budget {
			for used > budget-len(leftOut(len(entries))) && i > 0 {
				i--
				used -= utf8.RuneCountInString(entries[i].Name) + perLine
			}
			return i
		}
	}
	return len(entries)
}

// textLimit returns the maximum length of a text that keeps the whole menu within budget.
func textLimit(entries []Entry, texts []string, budget int) int {
	for _, e := range entries {
		budget -= utf8.RuneCountInString(e.Name) + perLine
	}
	least, most := 0, maxLine
	for least < most {
		try := (least + most + 1) / 2
		used := 0
		for i := range entries {
			used += min(try, utf8.RuneCountInString(texts[i]))
		}
		if used <= budget {
			least = try
		} else {
			most = try - 1
		}
	}
	return least
}

// shorten cuts a text to at most n characters, and marks that. What would be left
// of very little room is nothing.
func shorten(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	if n < 8 {
		return ""
	}
	cut := string([]rune(text)[:n-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " .,;:") + "…"
}
