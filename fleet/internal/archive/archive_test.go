package archive

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A standIn is an object store that takes what is signed as it should be, and is busy now and
// then.
type standIn struct {
	t      *testing.T
	secret string
	busy   int

	mu   sync.Mutex
	kept map[string][]byte
}

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=key/(\d{8})/moon-1/s3/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$`)

func (s *standIn) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy > 0 {
		s.busy--
		http.Error(w, "<Error><Code>SlowDown</Code></Error>", http.StatusServiceUnavailable)
		return
	}
	if why := s.check(q, body); why != "" {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "<Error><Code>SignatureDoesNotMatch</Code><Message>"+why+"</Message></Error>")
		return
	}
	switch q.Method {
	case http.MethodPut:
		s.kept[q.URL.Path] = body
	case http.MethodGet:
		content, ok := s.kept[q.URL.Path]
		if !ok {
			http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
			return
		}
		w.Write(content)
	}
}

// check computes the signature from what has arrived.
func (s *standIn) check(q *http.Request, body []byte) string {
	parts := authorization.FindStringSubmatch(q.Header.Get("Authorization"))
	if parts == nil {
		return "no signature in " + q.Header.Get("Authorization")
	}
	sum := sha256.Sum256(body)
	if q.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
		return "the body is not what its hash says"
	}
	if c := q.Header.Get("X-Amz-Checksum-Sha256"); q.Method == http.MethodPut && c != base64.StdEncoding.EncodeToString(sum[:]) {
		return "the checksum is wrong"
	}
	at, err := time.Parse("20060102T150405Z", q.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > 15*time.Minute {
		return "the date is wrong"
	}
	text := q.Method + "\n" + strings.SplitN(q.RequestURI, "?", 2)[0] + "\n\n"
	for _, name := range strings.Split(parts[2], ";") {
		value := q.Header.Get(name)
		if name == "host" {
			value = q.Host
		}
		text += name + ":" + value + "\n"
	}
	hash := sha256.Sum256([]byte(text + "\n" + parts[2] + "\n" + hex.EncodeToString(sum[:])))
	key := []byte("AWS4" + s.secret)
	for _, part := range []string{parts[1], "moon-1", "s3", "aws4_request",
		"AWS4-HMAC-SHA256\n" + q.Header.Get("X-Amz-Date") + "\n" + parts[1] + "/moon-1/s3/aws4_request\n" + hex.EncodeToString(hash[:])} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	if hex.EncodeToString(key) != parts[3] {
		return "the signature is wrong"
	}
	for _, must := range []string{"host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"} {
		if !strings.Contains(";"+parts[2]+";", ";"+must+";") {
			return must + " is not signed"
		}
	}
	return ""
}

func TestABucketKeepsFiles(t *testing.T) {
	store := &standIn{t: t, secret: "secret", busy: 1, kept: map[string][]byte{}}
	srv := httptest.NewServer(store)
	t.Cleanup(srv.Close)
	env := map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "a token", "AWS_REGION": "moon-1", "AWS_ENDPOINT_URL_S3": srv.URL}
	getenv := func(name string) string { return env[name] }
	s, err := Open("s3://bucket/some where/ä+b", getenv)
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("line\n"), 100_000)
	location, err := s.Put(t.Context(), "dir/id.jsonl", content)
	if err != nil || location != "s3://bucket/some where/ä+b/dir/id.jsonl" {
		t.Fatalf("at %q, %v", location, err)
	}
	if got := store.kept["/bucket/some where/ä+b/dir/id.jsonl"]; !bytes.Equal(got, content) {
		t.Errorf("the store has %d bytes of %d", len(got), len(content))
	}
	to, name := Split(location)
	again, err := Open(to, getenv)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Get(t.Context(), name); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if _, err := again.Get(t.Context(), "other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	env["AWS_SECRET_ACCESS_KEY"] = "guessed"
	wrong, err := Open("s3://bucket", getenv)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Put(t.Context(), "id.jsonl", content); err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Errorf("with a wrong key: %v", err)
	}
	for want, change := range map[string][2]string{"without TLS": {"AWS_ENDPOINT_URL_S3", "http://example.com"}, "AWS_ACCESS_KEY_ID": {"AWS_ACCESS_KEY_ID", ""}} {
		was := env[change[0]]
		env[change[0]] = change[1]
		if _, err := Open("s3://bucket", getenv); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=%s: %v", change[0], change[1], err)
		}
		env[change[0]] = was
	}
	if _, err := Open("s3://", getenv); err == nil {
		t.Error("a bucket has no name")
	}
}

func TestAFolderKeepsFiles(t *testing.T) {
	s, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	location, err := s.Put(t.Context(), "a/b.jsonl", []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	to, name := Split(location)
	again, err := Open(to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Get(t.Context(), name); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := again.Get(t.Context(), "other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

// What is kept goes to the store that was chosen, and nowhere else.
func TestABucketFollowsNoRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another store was asked") }))
	t.Cleanup(other.Close)
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(srv.Close)
	env := map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL_S3": srv.URL}
	s, err := Open("s3://bucket", func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "id.jsonl", []byte("content")); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("kept with %v", err)
	}
	if _, err := s.Get(t.Context(), "id.jsonl"); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("read with %v", err)
	}
}
