package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// A Role says what a key is for.
type Role string

const (
	Operator Role = "operator" // everything in its tenant
	Worker   Role = "worker"   // take runs, but submit nothing and answer no questions
)

// Roles returns all roles.
func Roles() []Role { return []Role{Operator, Worker} }

// KeyTime is how long a key is valid unless something else was asked for.
const KeyTime = 90 * 24 * time.Hour

// A Key is what the store of a server knows about a key that it has issued. The key itself is a file that others may
// take elsewhere.
type Key struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Classes are those of the runs that a worker may take besides those for anybody; none means all.
	Classes []string `json:"classes,omitempty"`
	// Public are the keys with this name; those that were rotated out expire soon.
	Public []PublicKey `json:"public"`
}

// A PublicKey is accepted until it expires.
type PublicKey struct {
	Key     string    `json:"key"`
	Expires time.Time `json:"expires"`
}

// valid reports whether a public key is accepted.
func (k *Key) valid(public string, now time.Time) bool {
	return slices.ContainsFunc(k.Public, func(p PublicKey) bool { return p.Key == public && now.Before(p.Expires) })
}

// expires is when the newest key ends.
func (k *Key) expires() time.Time {
	if len(k.Public) == 0 {
		return time.Time{}
	}
	return k.Public[len(k.Public)-1].Expires
}

// A KeyStore is where the keys of a tenant are kept. A server that runs notices changes within a second.
type KeyStore struct{ dir string }

// KeysIn returns the keys of a tenant in the store of a server.
func KeysIn(store, tenant string) *KeyStore {
	if tenant != DefaultTenant {
		store = filepath.Join(store, "tenants", tenant)
	}
	return &KeyStore{store}
}

const (
	issuedDir    = "keys"
	creds        = ".creds"
	rotationTime = time.Hour // for which a key is still accepted that was rotated
)

func (s *KeyStore) entry(name string) string { return filepath.Join(s.dir, issuedDir, name+".json") }

// File is where the key of a name was written.
func (s *KeyStore) File(name string) string {
	if slices.Contains(Roles(), Role(name)) { // the server's own
		return filepath.Join(s.dir, name+creds)
	}
	return filepath.Join(s.dir, issuedDir, name+creds)
}

// Add makes a key, or rotates the one of that name: a new file takes its place, and the old key is accepted for
// another hour.
func (s *KeyStore) Add(k Key, valid time.Duration) (file string, err error) {
	if k.Name == "" || strings.Trim(k.Name, tenantLetters) != "" {
		return "", fmt.Errorf("%q is not a valid name for a key: use lower-case letters, digits and -", k.Name)
	}
	if !slices.Contains(Roles(), k.Role) {
		return "", fmt.Errorf("%q is not a role; use one of %v", k.Role, Roles())
	}
	for _, class := range k.Classes {
		if !Word(class) {
			return "", fmt.Errorf("%q is not a valid label: use letters, digits, - and _", class)
		}
	}
	account, err := s.account()
	if err != nil {
		return "", err
	}
	now := time.Now().UTC()
	if old, err := s.read(k.Name); err == nil {
		for _, p := range old.Public {
			if now.Before(p.Expires) {
				p.Expires = earlier(p.Expires, now.Add(rotationTime))
				k.Public = append(k.Public, p)
			}
		}
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", fmt.Errorf("could not create a key: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return "", fmt.Errorf("could not create a key: %w", err)
	}
	k.Public = append(k.Public, PublicKey{public, now.Add(valid)})
	content, err := credentials(account, pair, &k)
	if err != nil {
		return "", fmt.Errorf("could not create a key: %w", err)
	}
	raw, err := json.Marshal(k)
	if err == nil { // the server must know it before anybody has it
		err = WriteFile(s.entry(k.Name), raw)
	}
	if file = s.File(k.Name); err == nil {
		err = WriteFile(file, content)
	}
	if err != nil {
		return "", fmt.Errorf("could not save a key: %w", err)
	}
	return file, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// credentials are a key with its name and role, signed for the account, in the format of NATS. What it may do, the
// server knows.
func credentials(account, pair nkeys.KeyPair, k *Key) ([]byte, error) {
	claims := jwt.NewUserClaims(k.Public[len(k.Public)-1].Key)
	claims.Name, claims.Expires, claims.Tags = k.Name, k.expires().Unix(), jwt.TagList{string(k.Role)}
	token, err := claims.Encode(account)
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	return jwt.FormatUserConfig(token, seed)
}

// Rotate makes a new key with the name, role and classes of one.
func (s *KeyStore) Rotate(name string, valid time.Duration) (file string, err error) {
	k, err := s.read(name)
	if err != nil {
		return "", err
	}
	k.Public = nil // those that are accepted for now are added again
	return s.Add(*k, valid)
}

// Revoke ends a key at once: who is connected with it is disconnected.
func (s *KeyStore) Revoke(name string) error {
	if _, err := s.read(name); err != nil {
		return err
	}
	if err := os.Remove(s.entry(name)); err != nil {
		return fmt.Errorf("could not revoke the key %s: %w", name, err)
	}
	if err := os.Remove(s.File(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the key %s is revoked, but its file is still there: %w", name, err)
	}
	return syncDir(filepath.Join(s.dir, issuedDir))
}

func (s *KeyStore) read(name string) (*Key, error) {
	if name == "" || strings.Trim(name, tenantLetters) != "" {
		return nil, fmt.Errorf("%q is not a valid name for a key", name)
	}
	raw, err := os.ReadFile(s.entry(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no key %s. 'haft-fleet keys ls' lists them", name)
	}
	k := new(Key)
	if err == nil {
		err = json.Unmarshal(raw, k)
	}
	if err != nil {
		return nil, fmt.Errorf("could not read the key %s: %w", name, err)
	}
	return k, nil
}

// List returns the keys that were issued and not revoked.
func (s *KeyStore) List() (list []*Key, err error) {
	files, err := filepath.Glob(filepath.Join(s.dir, issuedDir, "*.json"))
	for _, file := range files {
		k, err := s.read(strings.TrimSuffix(filepath.Base(file), ".json"))
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return list, err
}

// changed is when files of keys were last added or removed.
func (s *KeyStore) changed(bare bool) (last time.Time) {
	dirs := []string{filepath.Join(s.dir, issuedDir)}
	if bare {
		dirs = append(dirs, s.dir, filepath.Join(s.dir, "workers"))
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// renew makes the server's own keys, and new ones when half of their time is over. Who uses a file reads it again when
// it connects, and so gets the new key.
func (s *KeyStore) renew() error {
	for _, role := range Roles() {
		k, err := s.read(string(role))
		if err == nil && time.Until(k.expires()) > KeyTime/2 {
			if _, err := os.Stat(s.File(k.Name)); err == nil {
				continue
			}
		}
		if _, err := s.Add(Key{Name: string(role), Role: role}, KeyTime); err != nil {
			return err
		}
	}
	return nil
}

// account returns the key that signs those of a tenant.
func (s *KeyStore) account() (nkeys.KeyPair, error) {
	path := filepath.Join(s.dir, "account.nk")
	seed, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the store of a server with this tenant. Start 'haft-fleet serve' first", s.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("could not read the account's key: %w", err)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("could not read the account's key %s: %w", path, err)
	}
	return pair, nil
}

// makeAccount makes that key, once.
func (s *KeyStore) makeAccount() (public string, err error) {
	return loadKey(filepath.Join(s.dir, "account.nk"), nkeys.CreateAccount)
}

// loadKey reads a key's file, or makes it, and returns its public part.
func loadKey(path string, make func() (nkeys.KeyPair, error)) (string, error) {
	seed, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err := make()
		if err != nil {
			return "", fmt.Errorf("could not create a key: %w", err)
		}
		if seed, err = pair.Seed(); err != nil {
			return "", fmt.Errorf("could not create a key: %w", err)
		}
		if err := WriteFile(path, seed); err != nil {
			return "", fmt.Errorf("could not save a key: %w", err)
		}
	} else if err != nil {
		return "", fmt.Errorf("could not read a key: %w", err)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return "", fmt.Errorf("could not read the key %s: %w", path, err)
	}
	return pair.PublicKey()
}

const tenantLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"
