package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A proofKey is what tokens are bound to (RFC 9449): whoever steals one without
// the key cannot use it.
type proofKey struct{ private *ecdsa.PrivateKey }

func newProofKey() (*proofKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create a key for tokens: %w", err)
	}
	return &proofKey{key}, nil
}

// readProofKey returns nil for "".
func readProofKey(text string) (*proofKey, error) {
	if text == "" {
		return nil, nil
	}
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("read the key of the token: %w", err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read the key of the token: %w", err)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read the key of the token: it is a %T", key)
	}
	return &proofKey{private}, nil
}

// prove makes the proof for one request; access is the token it goes with, ""
// at the token endpoint.
func (k *proofKey) prove(method, target, access, nonce string, now time.Time) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", err
	}
	u.RawQuery, u.Fragment = "", ""
	public, err := k.private.PublicKey.Bytes() // 4, X, Y
	if err != nil {
		return "", err
	}
	half := (len(public) - 1) / 2
	header := map[string]any{
		"typ": "dpop+jwt",
		"jwk": map[string]string{"kty": "EC", "crv": "P-256", "x": b64(public[1 : 1+half]), "y": b64(public[1+half:])},
	}
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": u.String(), "iat": now.Unix()}
	if access != "" {
		sum := sha256.Sum256([]byte(access))
		claims["ath"] = b64(sum[:])
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return sign(k.private, header, claims)
}

// text is the key as the store keeps it; readProofKey reads it back.
func (k *proofKey) text() (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	return base64.StdEncoding.EncodeToString(der), err
}

// nonces are what servers want to see in the next proof, by origin.
type nonces struct {
	mu sync.Mutex
	m  map[string]string
}

// learn takes the nonce of an answer, and reports whether it is a new one.
func (n *nonces) learn(target string, resp *http.Response) bool {
	nonce := resp.Header.Get("DPoP-Nonce")
	if nonce == "" {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.m == nil {
		n.m = make(map[string]string)
	}
	fresh := n.m[origin(target)] != nonce
	n.m[origin(target)] = nonce
	return fresh
}

func (n *nonces) of(target string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.m[origin(target)]
}

func origin(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	return u.Scheme + "://" + u.Host
}
