package archive

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// credentials are the keys of a user of an object store; session is "" unless they are for
// some time only.
type credentials struct{ id, secret, session string }

// sign signs a request that has no query, with all its headers, as version 4 of the scheme of
// AWS says. Hash is that of the body, in hexadecimal.
func sign(req *http.Request, hash string, keys credentials, region string, at time.Time) {
	stamp := at.Format("20060102T150405Z")
	req.Header.Set("X-Amz-Date", stamp)
	req.Header.Set("X-Amz-Content-Sha256", hash)
	if keys.session != "" {
		req.Header.Set("X-Amz-Security-Token", keys.session)
	}
	headers := map[string]string{"host": req.URL.Host}
	for name, values := range req.Header {
		headers[strings.ToLower(name)] = strings.TrimSpace(strings.Join(values, ","))
	}
	names := slices.Sorted(maps.Keys(headers))
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n\n", req.Method, escape(req.URL.Path))
	for _, name := range names {
		fmt.Fprintf(&canonical, "%s:%s\n", name, headers[name])
	}
	signed := strings.Join(names, ";")
	fmt.Fprintf(&canonical, "\n%s\n%s", signed, hash)
	scope := strings.Join([]string{stamp[:8], region, "s3", "aws4_request"}, "/")
	sum := sha256.Sum256([]byte(canonical.String()))
	key := []byte("AWS4" + keys.secret)
	for _, part := range append(strings.Split(scope, "/"), strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, hex.EncodeToString(sum[:])}, "\n")) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", keys.id, scope, signed, hex.EncodeToString(key)))
}

// escape writes a path as the signature has it: everything but letters, digits and a few signs
// by its code.
func escape(path string) string {
	var out strings.Builder
	for _, c := range []byte(path) {
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}
