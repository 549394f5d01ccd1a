package cloud

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Keys are those of an AWS account; Session is "" for permanent ones.
type Keys struct{ ID, Secret, Session string }

// A signer writes AWS Signature Version 4.
type signer struct {
	keys            Keys
	region, service string
}

const stamp = "20060102T150405Z"

// sign adds the signature of a request and its body at a time. It signs the host, the
// content type and all headers of AWS.
func (s *signer) sign(r *http.Request, body []byte, now time.Time) {
	at := now.UTC().Format(stamp)
	r.Header.Set("X-Amz-Date", at)
	if s.keys.Session != "" {
		r.Header.Set("X-Amz-Security-Token", s.keys.Session)
	}
	names, headers := signed(r)
	canonical := strings.Join([]string{r.Method, canonicalPath(r.URL), canonicalQuery(r.URL), headers, names, digest(body)}, "\n")
	scope := at[:8] + "/" + s.region + "/" + s.service + "/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + at + "\n" + scope + "\n" + digest([]byte(canonical))
	key := []byte("AWS4" + s.keys.Secret)
	for _, part := range []string{at[:8], s.region, s.service, "aws4_request", text} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s.keys.ID+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(key))
}

// signed returns the names of the headers that are signed, and their lines.
func signed(r *http.Request) (names, lines string) {
	values := map[string]string{"host": r.URL.Host}
	if r.Host != "" {
		values["host"] = r.Host
	}
	for name, list := range r.Header {
		if name = strings.ToLower(name); name == "content-type" || strings.HasPrefix(name, "x-amz-") {
			var trimmed []string
			for _, v := range list {
				trimmed = append(trimmed, strings.Join(strings.Fields(v), " "))
			}
			values[name] = strings.Join(trimmed, ",")
		}
	}
	var sorted []string
	for name := range values {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		lines += name + ":" + values[name] + "\n"
	}
	return strings.Join(sorted, ";"), lines
}

// canonicalPath escapes the path as it is sent once more.
func canonicalPath(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		return "/"
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = segment(part)
	}
	return strings.Join(parts, "/")
}

func canonicalQuery(u *url.URL) string {
	var pairs []string
	for name, values := range u.Query() {
		for _, v := range values {
			pairs = append(pairs, segment(name)+"="+segment(v))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
