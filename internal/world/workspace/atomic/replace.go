package atomic

import (
	"crypto/rand"
	"encoding/hex"
)

// tempPrefix begins the name of every temporary file. People who find one should know whose it is.
const tempPrefix = ".haft-tmp-"

func id() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
