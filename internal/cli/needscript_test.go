package cli_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/haftdev/haft/internal/test/needtest"
)

// A scriptTest lets needtest end a script.
type scriptTest struct {
	*testscript.TestScript
	skip func(...any)
}

// skipKey is where a script keeps how it is skipped.
type skipKey struct{}

func (scriptTest) Helper() {}

func (s scriptTest) Skipf(format string, args ...any) { s.skip(fmt.Sprintf(format, args...)) }

// need is the first line of a script that works only where the things are.
func need(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: need thing…")
	}
	for _, arg := range args {
		needtest.Need(scriptTest{ts, ts.Value(skipKey{}).(func(...any))}, needtest.Thing(arg))
	}
}

// has is a condition of single lines: a script that does not need a thing as a whole says
// [overlay] before a line that does. In CI everything is there.
func has(thing string) (bool, error) {
	err := needtest.Lacks(needtest.Thing(thing))
	if err != nil && os.Getenv("CI") != "" {
		return false, err
	}
	return err == nil, nil
}

// request is a program for scripts: request [-H HEADER]... [-d BODY] URL prints what a server
// answers, and fails where that is an error.
func request() {
	header := http.Header{}
	flag.Func("H", "a header", func(s string) error {
		name, value, _ := strings.Cut(s, ": ")
		header.Set(name, value)
		return nil
	})
	body := flag.String("d", "", "what to post")
	flag.Parse()
	method := http.MethodGet
	if *body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, flag.Arg(0), strings.NewReader(*body))
	if err != nil {
		fail(err)
	}
	r.Header, r.Host = header, header.Get("Host")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		fail(err)
	}
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil || resp.StatusCode >= 400 {
		fail(resp.Status, err)
	}
}

func fail(why ...any) {
	fmt.Fprintln(os.Stderr, why...)
	os.Exit(1)
}
