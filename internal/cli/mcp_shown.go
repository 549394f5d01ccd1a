package cli

import (
	"net/url"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/mcp/wirelog"
)

// withheld stands in the place of a secret.
const withheld = "***"

// shownCommand is a command line without the values of flags that hold secrets.
func shownCommand(words []string) []string {
	words = slices.Clone(words)
	for i, word := range words {
		name, _, whole := strings.Cut(word, "=")
		if !strings.HasPrefix(name, "-") || !wirelog.IsSecret(strings.TrimLeft(name, "-")) {
			continue
		}
		switch {
		case whole:
			words[i] = name + "=" + withheld
		case i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			words[i+1] = withheld
		}
	}
	return words
}

// shownURL is an address without a password and the values of fields that hold secrets.
func shownURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.RawQuery == "" && u.User == nil {
		return address
	}
	fields := strings.Split(u.RawQuery, "&")
	for i, field := range fields {
		if name, _, _ := strings.Cut(field, "="); wirelog.IsSecret(name) || strings.EqualFold(name, "key") {
			fields[i] = name + "=" + withheld
		}
	}
	u.RawQuery = strings.Join(fields, "&")
	return u.Redacted()
}
