package haft

import (
	"crypto/rand"
	"fmt"
	"slices"
)

// answers reports whether a result belongs to a prompt. A result that does not name its
// prompt belongs to any.
func answers(r *Result, id string) bool {
	if r.UserMessageUUID == "" && len(r.UserMessageUUIDs) == 0 {
		return true
	}
	return r.UserMessageUUID == id || slices.Contains(r.UserMessageUUIDs, id)
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
