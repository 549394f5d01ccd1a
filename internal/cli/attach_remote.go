package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/haftdev/haft/internal/sys/regular"
)

// readToken reads a file that has a token, or that a server keeps. One that others can read
// is not trusted.
func readToken(path string) (token string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the token file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		return "", fmt.Errorf("other users can read %s. Run: chmod 600 %s", path, path)
	}
	raw, err := regular.Read(path, 4096)
	if err != nil {
		return "", fmt.Errorf("cannot read the token file: %w", err)
	}
	var kept struct{ Token string }
	if json.Unmarshal(raw, &kept) == nil && kept.Token != "" {
		return kept.Token, nil
	}
	if token = strings.TrimSpace(string(raw)); token == "" || strings.ContainsAny(token, " \n") {
		return "", errors.New(path + " does not contain a token")
	}
	return token, nil
}

// sameServer reports whether two addresses are those of one server of this machine, by
// whichever of its names.
func sameServer(kept, given string) bool {
	a, errA := url.Parse(kept)
	b, errB := url.Parse(given)
	if errA != nil || errB != nil || a.Scheme != b.Scheme || a.Port() != b.Port() {
		return false
	}
	return a.Hostname() == b.Hostname() || a.Hostname() == "127.0.0.1" && (b.Hostname() == "localhost" || b.Hostname() == "::1")
}
