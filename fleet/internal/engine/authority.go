package engine

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// An authority decides who may connect. It knows the keys that the stores of the tenants have now: one that is added
// is accepted without a restart, and who uses one that was revoked or has expired is disconnected.
//
// It is safe for concurrent use.
type authority struct {
	previous bool // bare keys of the previous version are accepted, too
	most     int  // connections of a tenant; 0 means any number
	now      func() time.Time

	mu      sync.Mutex
	tenants []*tenantKeys
	clients map[uint64]client
}

// tenantKeys are the keys of a tenant, as they were read last.
type tenantKeys struct {
	name    string
	issuer  string // public key of its account
	account *server.Account
	store   *KeyStore
	changed time.Time // when the keys last changed, as far as they were read
	looked  time.Time
	issued  map[string]*Key
	bare    map[string]*server.Permissions // by public key
}

// A client is who is connected.
type client struct {
	tenant *tenantKeys
	name   string // of its key; "" for a bare one
	public string
}

// newAuthority makes the keys of each tenant, once.
func newAuthority(o *ServerOptions) (*authority, error) {
	a := &authority{previous: o.Previous, most: cmp.Or(o.Quota.Connections, usualConnections), now: time.Now, clients: map[uint64]client{}}
	for _, name := range append([]string{DefaultTenant}, o.Tenants...) {
		if slices.ContainsFunc(a.tenants, func(t *tenantKeys) bool { return t.name == name }) {
			continue
		}
		if name == "" || strings.Trim(name, tenantLetters) != "" {
			return nil, fmt.Errorf("%q is not a valid tenant name: use lower-case letters, digits and -", name)
		}
		t := &tenantKeys{name: name, store: KeysIn(o.Store, name)}
		var err error
		if t.issuer, err = t.store.makeAccount(); err == nil {
			err = a.read(t)
		}
		if err != nil {
			return nil, err
		}
		a.tenants = append(a.tenants, t)
	}
	return a, nil
}

// accounts are those that the engine has to know besides its own.
func (a *authority) accounts() (list []*server.Account) {
	for _, t := range a.tenants {
		if t.name != DefaultTenant {
			list = append(list, server.NewAccount(t.name))
		}
	}
	return list
}

// attach takes the accounts of an engine.
func (a *authority) attach(ns *server.Server) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.clients)
	for _, t := range a.tenants {
		if t.account, err = accountOf(ns, t.name); err != nil {
			return err
		}
	}
	return nil
}

var _ server.Authentication = (*authority)(nil)

// Check implements [server.Authentication].
func (a *authority) Check(c server.ClientAuthentication) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	who, permissions, until := a.identify(c)
	if who.tenant == nil {
		return false
	}
	if a.most > 0 && who.name != string(Operator) && who.tenant.account.NumLocalConnections() >= a.most {
		return false // the operator can still look at it
	}
	c.RegisterUser(&server.User{Username: who.name, Account: who.tenant.account, Permissions: permissions, ConnectionDeadline: until})
	a.clients[c.GetID()] = who
	return true
}

// identify returns who connects; its tenant is nil if that is nobody.
func (a *authority) identify(c server.ClientAuthentication) (client, *server.Permissions, time.Time) {
	o := c.GetOpts()
	if o.Token == "" {
		for _, t := range a.tenants {
			if permissions, ok := t.bare[o.Nkey]; ok && o.Nkey != "" && signed(o.Nkey, o.Sig, c.GetNonce()) {
				return client{t, "", o.Nkey}, permissions, time.Time{}
			}
		}
		return client{}, nil, time.Time{}
	}
	claims, err := jwt.DecodeUserClaims(o.Token) // it checks the signature of the issuer that the text names
	if err != nil || !signed(claims.Subject, o.Sig, c.GetNonce()) {
		return client{}, nil, time.Time{}
	}
	for _, t := range a.tenants {
		k := t.issued[claims.Name]
		if t.issuer == claims.Issuer && k != nil && k.valid(claims.Subject, a.now()) {
			return client{t, k.Name, claims.Subject}, permissions(k), time.Unix(claims.Expires, 0)
		}
	}
	return client{}, nil, time.Time{}
}

// signed reports whether a nonce was signed with a key.
func signed(public, signature string, nonce []byte) bool {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(public)
	return err == nil && key.Verify(nonce, sig) == nil
}

// refresh reads the keys again, and returns the connections that have lost theirs.
func (a *authority) refresh() (lost []uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tenants {
		err = errors.Join(err, a.read(t))
	}
	for id, c := range a.clients {
		if !c.accepted(a.now()) {
			lost = append(lost, id)
		}
	}
	return lost, err
}

// accepted reports whether the key of a client is still known.
func (c client) accepted(now time.Time) bool {
	if c.name == "" {
		_, ok := c.tenant.bare[c.public]
		return ok
	}
	k := c.tenant.issued[c.name]
	return k != nil && k.valid(c.public, now)
}

// forget drops those who are not connected any more.
func (a *authority) forget(connected func(id uint64) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.clients {
		if !connected(id) {
			delete(a.clients, id)
		}
	}
}

// read reads the keys of a tenant if something may have changed. What cannot be read stays as it was.
func (a *authority) read(t *tenantKeys) error {
	if changed := t.store.changed(a.previous); t.issued != nil && changed.Equal(t.changed) && a.now().Sub(t.looked) < time.Minute {
		return nil
	}
	if err := t.store.renew(); err != nil {
		return err
	}
	changed := t.store.changed(a.previous) // what changes from here on is seen the next time
	list, err := t.store.List()
	if err != nil {
		return err
	}
	issued := map[string]*Key{}
	for _, k := range list {
		issued[k.Name] = k
	}
	bare, err := t.readBare(a.previous)
	if err != nil {
		return err
	}
	t.issued, t.bare, t.changed, t.looked = issued, bare, changed, a.now()
	return nil
}

// readBare reads the keys of the previous version.
func (t *tenantKeys) readBare(wanted bool) (map[string]*server.Permissions, error) {
	bare := map[string]*server.Permissions{}
	if !wanted {
		return bare, nil
	}
	dir := t.store.dir
	files, err := filepath.Glob(filepath.Join(dir, "workers", "*.nk"))
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Concat(files, []string{filepath.Join(dir, "operator.nk"), filepath.Join(dir, "worker.nk")}) {
		public, err := loadKey(file, nkeys.CreateUser)
		if err != nil {
			return nil, err
		}
		if bare[public] = previousPermissions(); filepath.Base(file) == "operator.nk" {
			bare[public] = nil
		}
	}
	return bare, nil
}
