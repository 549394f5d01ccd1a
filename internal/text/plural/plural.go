// Package plural writes numbers with nouns: 1 line, 2 lines. It is safe for concurrent use.
package plural

import (
	"fmt"
	"strings"
)

// Of is a number with its noun, such as 1 match or 2 matches.
func Of[N int | int64](n N, noun string) string { return Forms(n, noun, many(noun)) }

// Forms is a number with one of two forms, for words that have a plural of their own.
func Forms[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Thousands is a number in few digits, such as 21k or 1.5M.
func Thousands(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1000), ".0") + "k"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
}

func many(noun string) string {
	for _, end := range []string{"ch", "sh", "s", "x"} {
		if strings.HasSuffix(noun, end) {
			return noun + "es"
		}
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	return noun + "s"
}
