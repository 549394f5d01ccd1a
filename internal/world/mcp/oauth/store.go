package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/config/rewrite"
)

// A Store keeps logins in a folder: one below it for each, so that a slow
// authorization server holds up nobody but those who wait for it, and a damaged
// file loses no other login.
type Store struct{ dir string }

// NewStore returns the store in a folder, which need not exist; see [DefaultDir].
func NewStore(dir string) *Store { return &Store{dir} }

// DefaultDir returns the usual place of the store, in the user's config folder.
func DefaultDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of logins: %w", err)
	}
	return filepath.Join(dir, "haft", "mcp-logins"), nil
}

// A login is what is kept about one server. Without an access token it remembers
// what the next login needs.
type login struct {
	Version int    `json:"version"`
	Server  string `json:"server"` // its address, for people who read the file

	Issuer   string       `json:"issuer,omitempty"`
	Resource string       `json:"resource,omitempty"`
	Token    string       `json:"token_endpoint,omitempty"`
	Revoke   string       `json:"revocation_endpoint,omitempty"`
	Client   registration `json:"client,omitzero"`

	Access   string    `json:"access_token,omitempty"`
	Refresh  string    `json:"refresh_token,omitempty"`
	Type     string    `json:"token_type,omitempty"`
	Key      string    `json:"dpop_key,omitempty"`
	Scopes   []string  `json:"scopes,omitempty"`
	Obtained time.Time `json:"obtained,omitzero"`
	Expires  time.Time `json:"expires,omitzero"`

	// Clients are the registrations by issuer: one server's authorization server
	// must never see what another gave us.
	Clients map[string]registration `json:"clients,omitempty"`
	// Wanted and Metadata are what the server asked for when it last refused.
	Wanted   []string `json:"wanted_scopes,omitempty"`
	Metadata string   `json:"resource_metadata,omitempty"`
}

const loginVersion = 1

// fresh reports whether the access token can be used at now, with a margin for
// clocks and for the way.
func (l *login) fresh(now time.Time) bool {
	if l.Access == "" {
		return false
	}
	if l.Expires.IsZero() {
		return true
	}
	margin := min(30*time.Second, l.Expires.Sub(l.Obtained)/10)
	return now.Before(l.Expires.Add(-margin))
}

// forget drops the tokens and what belongs to them.
func (l *login) forget() {
	l.Access, l.Refresh, l.Type, l.Key, l.Scopes = "", "", "", "", nil
	l.Obtained, l.Expires = time.Time{}, time.Time{}
}

// keep takes an answer into a login. A refresh token that is not renewed stays.
func (l *login) keep(a *tokenAnswer, asked []string, now time.Time) {
	l.Access, l.Type, l.Obtained = a.Access, a.Type, now
	if a.Refresh != "" {
		l.Refresh = a.Refresh
	}
	l.Expires = time.Time{}
	if a.ExpiresIn > 0 {
		l.Expires = now.Add(time.Duration(a.ExpiresIn) * time.Second)
	}
	switch {
	case a.Scope != "":
		l.Scopes = strings.Fields(a.Scope)
	case asked != nil:
		l.Scopes = asked // silence means that all was granted
	}
}

func (s *Store) path(key string) string { return filepath.Join(s.dir, key, "login.json") }

// read returns the login, an empty one if there is none. One that cannot be read
// as a login is an error, and the next change replaces it.
func (s *Store) read(key string) (*login, error) {
	f, err := os.Open(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return new(login), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the login: %w", err)
	}
	defer f.Close()
	text, err := rewrite.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read the login %s: %w", f.Name(), err)
	}
	l, err := parseLogin(text)
	if err != nil {
		return nil, fmt.Errorf("read the login %s: %w", f.Name(), err)
	}
	return l, nil
}

// errDamaged means that a file is no login, or a newer haft's.
var errDamaged = errors.New("it is not a valid login")

func parseLogin(text []byte) (*login, error) {
	l := new(login)
	if len(text) == 0 {
		return l, nil
	}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if l.Version != loginVersion {
		return nil, fmt.Errorf("%w: it has version %d, but this haft supports version %d", errDamaged, l.Version, loginVersion)
	}
	return l, nil
}

// change lets edit change the login while no other process does. If edit fails
// nothing is written. The result is the login as it is on disk then.
func (s *Store) change(ctx context.Context, key, server string, edit func(*login) error) (*login, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("save the login: %w", err)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("save the login: %w", err)
	}
	defer root.Close()
	var kept *login
	err = rewrite.File(ctx, root, key+"/login.json", func(old []byte) ([]byte, error) {
		l, err := parseLogin(old)
		if err != nil {
			l = new(login) // what was there is of no use to anybody
		}
		l.Version, l.Server = loginVersion, server
		if err := edit(l); err != nil {
			return nil, err
		}
		kept = l
		text, err := json.MarshalIndent(l, "", "  ")
		return append(text, '\n'), err
	}, &rewrite.Options{Perm: 0o600, DirPerm: 0o700})
	if err != nil {
		return nil, err
	}
	return kept, nil
}
