package session

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
)

// NewUUID returns a random name for an entry or a session.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return format(b, 4)
}

// ResultUUID returns the UUID of the entry with the result of a call. It is derived from
// the call, so that a program that shows the result knows it too.
func ResultUUID(sessionID, callID string) string {
	sum := sha1.Sum([]byte("haft result\x00" + sessionID + "\x00" + callID))
	return format([16]byte(sum[:16]), 5)
}

func format(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	out := make([]byte, 0, 36)
	for i, part := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, part)
	}
	return string(out)
}

// isUUID reports whether s can name a session: nothing else may become part of a path.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !isHex(c):
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
