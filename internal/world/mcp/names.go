package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name that all providers take.
const maxName = 64

// normal replaces what a tool's name must not have.
func normal(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// digest is a short name for any text.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

func serverKey(name string) string {
	key := normal(strings.TrimSpace(name))
	for strings.Contains(key, "__") {
		key = strings.ReplaceAll(key, "__", "_")
	}
	if key = strings.Trim(key, "_"); key == "" {
		key = digest(name)
	}
	if len(key) > maxName/2 {
		key = strings.TrimRight(key[:maxName/2-9], "_") + "_" + digest(name)
	}
	return key
}

func toolPrefix(key string) string { return "mcp__" + key + "__" }

// offeredNames gives each of a server's names the one that the model, or the
// person, calls. The same names get the same answer in whatever order they come.
func offeredNames(key string, names []string) map[string]string {
	prefix := toolPrefix(key)
	count := make(map[string]int)
	for _, name := range names {
		count[normal(name)]++
	}
	offered := make(map[string]string, len(names))
	for _, name := range names {
		short := normal(name)
		if count[short] > 1 && short != name || len(prefix)+len(short) > maxName {
			short = short[:min(len(short), maxName-len(prefix)-9)] + "_" + digest(name)
		}
		offered[name] = prefix + short
	}
	return offered
}
