package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// b64 is how tokens write bytes.
func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// sign makes a JSON web token with a P-256 or RSA key.
func sign(key crypto.Signer, header, claims map[string]any) (string, error) {
	switch key.(type) {
	case *ecdsa.PrivateKey:
		header["alg"] = "ES256"
	case *rsa.PrivateKey:
		header["alg"] = "RS256"
	}
	head, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := b64(head) + "." + b64(body)
	digest := sha256.Sum256([]byte(text))
	signature, err := signature(key, digest[:])
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return text + "." + b64(signature), nil
}

func signature(key crypto.Signer, digest []byte) ([]byte, error) {
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return key.Sign(rand.Reader, digest, crypto.SHA256)
	}
	r, s, err := ecdsa.Sign(rand.Reader, ec, digest)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out, nil
}
