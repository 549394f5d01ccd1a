// Package lazyregexp compiles regular expressions when they are first used. A program
// with a hundred of them would otherwise compile all at every start and use a few.
// A [Regexp] is safe for concurrent use.
package lazyregexp

import (
	"regexp"
	"sync"
)

// A Regexp is a regular expression that may not be compiled yet.
type Regexp struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

// New returns an expression. One that is wrong panics when it is first used; a test
// compiles all that are in the source. It is so little that the compiler lays variables
// out as data, and a start does nothing for them.
func New(expr string) *Regexp { return &Regexp{expr: expr} }

func (r *Regexp) compiled() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.expr) })
	return r.re
}

// Get returns the compiled expression, for what is not here.
func (r *Regexp) Get() *regexp.Regexp { return r.compiled() }

// MatchString is [regexp.Regexp.MatchString].
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// Match is [regexp.Regexp.Match].
func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

// FindString is [regexp.Regexp.FindString].
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindSubmatch is [regexp.Regexp.FindSubmatch].
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compiled().FindSubmatch(b) }

// FindStringSubmatch is [regexp.Regexp.FindStringSubmatch].
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindAll is [regexp.Regexp.FindAll].
func (r *Regexp) FindAll(b []byte, n int) [][]byte { return r.compiled().FindAll(b, n) }

// ReplaceAllString is [regexp.Regexp.ReplaceAllString].
func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}

// ReplaceAllStringFunc is [regexp.Regexp.ReplaceAllStringFunc].
func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}
