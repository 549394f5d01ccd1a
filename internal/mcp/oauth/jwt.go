package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
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

// parseKey reads a private key in PEM.
func parseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("read the client's key: it is not in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("read the client's key: %w", err)
	}
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		if key.Curve == elliptic.P256() {
			return key, nil
		}
	case *rsa.PrivateKey:
		return key, nil
	}
	return nil, errors.New("read the client's key: it must be an RSA key or one on the curve P-256")
}
