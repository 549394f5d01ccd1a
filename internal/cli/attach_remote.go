package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/keep"
	"github.com/haftdev/haft/internal/regular"
	"github.com/haftdev/haft/internal/serve"
	"github.com/haftdev/haft/internal/serve/attach"
)

// runRemote attaches to a session of a server.
func (f *attachFlags) runRemote(ctx context.Context, word string) error {
	address, err := attach.Parse(word)
	if err != nil {
		return usageError{fmt.Errorf("could not attach: %w", err)}
	}
	if !address.Private() && !f.insecure {
		return usageError{fmt.Errorf("could not attach: others could read the token on its way to %s. Use https or a tunnel (ssh -L), or give --insecure", address.URL)}
	}
	token, err := f.token(address)
	if err != nil {
		return fmt.Errorf("could not attach: %w", err)
	}
	server := &attach.Server{URL: address.URL, Token: token}
	row, err := server.Find(ctx, address.Session)
	if err != nil {
		return fmt.Errorf("could not attach: %w", err)
	}
	if f.cancel {
		if err := server.Cancel(ctx, row.ID); err != nil {
			return fmt.Errorf("could not cancel session %s: %w", row.ID, err)
		}
		fmt.Fprintln(f.Err, cancelledText)
		return nil
	}
	if f.watch && !row.Running {
		return fmt.Errorf("could not attach to session %s: it is not running. Without --watch, you can continue it with a prompt", row.ID)
	}
	stream := server.Open(ctx, row)
	defer stream.Close()
	if err := f.attach(ctx, stream, ""); err != nil { // the server names its clients
		return err
	}
	if err := stream.Err(); err != nil {
		return fmt.Errorf("the session can no longer be watched: %w", err)
	}
	return nil
}

const cancelledText = "Cancelled the session's turn and its queued prompts."

// tokenVariable has the token of a server.
const tokenVariable = "HAFT_SERVE_TOKEN"

// token finds the token of a server, never in the command line, which others can see.
func (f *attachFlags) token(address attach.Address) (string, error) {
	if f.tokenFile != "" {
		return readToken(f.tokenFile)
	}
	if token := os.Getenv(tokenVariable); token != "" {
		return token, nil
	}
	// What a server has left is not used: another user may listen at its port now.
	home, err := serve.OpenHome(filepath.Join(keep.State(), "serve"), false)
	if err == nil {
		defer home.Close()
		// A further address without TLS may be a port that another user listens at.
		for _, at := range append([]string{home.Running}, home.Others...) {
			if at != "" && sameServer(at, address.URL) && (at == home.Running || strings.HasPrefix(at, "https://")) {
				return home.Token, nil
			}
		}
	}
	return "", fmt.Errorf("could not find the token for %s, and no 'haft serve' of yours runs there. Start it, or put the token into a file that only you can read and give --token-file, or set %s", address.URL, tokenVariable)
}

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
