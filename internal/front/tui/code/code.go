// Package code colours source code line by line, while it is still being written.
//
//	h := code.New("go", palette)
//	coloured := h.Line("func main() {")
//
// It knows the words, strings and comments of some twenty languages as data, and
// carries over from line to line only whether a comment or a string is open. So a
// line costs its own length, however long the file is, and is coloured once: that
// is what streaming needs, and why it is no grammar. A language that it does not
// know stays as it is.
//
// A Highlighter belongs to one goroutine.
package code

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/front/tui/style"
)

// A Highlighter colours the lines of one text.
type Highlighter struct {
	lang  *language
	paint style.Palette
	// open is the delimiter that ends what is open since an earlier line; "" if
	// nothing is.
	open string
	as   style.Style
}

// New returns a highlighter for a language by its name, or by that of a file's
// ending.
func New(name string, p style.Palette) *Highlighter {
	return &Highlighter{lang: find(name), paint: p}
}

func find(name string) *language {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || strings.Contains(name, " ") {
		return nil
	}
	for _, l := range languages {
		if strings.Contains(l.names, " "+name+" ") {
			return &l
		}
	}
	return nil
}

var languages = []language{
	{names: " go golang ", comments: slashes, spans: []span{block, {"`", "`", false}}, quotes: `"'`,
		words: " break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false any bool byte error int int64 uint rune string "},
	{names: " js javascript jsx mjs ts typescript tsx ", comments: slashes, spans: []span{block, {"`", "`", false}}, quotes: `"'`,
		words: " abstract as async await break case catch class const continue default delete do else enum export extends finally for from function get if implements import in instanceof interface let new null of private protected public readonly return set static super switch this throw true false try type typeof undefined var void while yield string number boolean any "},
	{names: " py python ", comments: hash, spans: []span{{`"""`, `"""`, false}, {"'''", "'''", false}}, quotes: `"'`,
		words: " and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield self "},
	{names: " rs rust ", comments: slashes, spans: []span{block}, quotes: `"`,
		words: " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while Option Result Some None Ok Err "},
	{names: " c h cpp c++ cc hpp objc ", comments: slashes, spans: []span{block}, quotes: `"'`,
		words: " auto bool break case catch char class const constexpr continue default delete do double else enum extern false float for if include inline int long namespace new nullptr operator private protected public return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while NULL define ifdef ifndef endif "},
	{names: " java kt kotlin scala cs c# csharp swift dart groovy ", comments: slashes, spans: []span{{`"""`, `"""`, false}, block}, quotes: `"'`,
		words: " abstract as async await boolean break byte case catch char class const continue data default do double else enum extends false final finally float for fun func guard if implements import in int interface internal is let long namespace new null nil object open override package private protected public return sealed static string super switch this throw true try using val var virtual void when where while "},
	{names: " rb ruby ", comments: hash, quotes: "\"'",
		words: " alias and begin break case class def do else elsif end ensure false for if in module next nil not or raise redo rescue retry return self super then true unless until when while yield require attr_accessor "},
	{names: " php ", comments: []string{"//", "#"}, spans: []span{block}, quotes: `"'`,
		words: " abstract array as break case catch class const continue default do echo else elseif extends false final finally fn for foreach function global if implements interface match namespace new null private protected public return static switch this throw true try use var while "},
	{names: " sh bash zsh shell console fish ", comments: hash, quotes: `"'`,
		words: " case do done elif else esac fi for function if in local return select then until while export set unset source alias cd echo exit eval exec test trap readonly declare sudo "},
	{names: " ps1 powershell ", comments: hash, spans: []span{{"<#", "#>", true}}, quotes: `"'`, fold: true,
		words: " begin break catch continue do else elseif end exit finally for foreach function if in param process return switch throw try until while "},
	{names: " sql psql mysql sqlite ", comments: []string{"--"}, spans: []span{block}, quotes: `'"`, fold: true,
		words: " add all alter and as asc begin between by case cast column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having in index inner insert into is join key left like limit not null on or order outer primary references returning right rollback select set table then union unique update using values view when where with integer text boolean timestamp varchar "},
	{names: " json jsonc json5 ", comments: slashes, quotes: `"`, words: " true false null "},
	{names: " yaml yml toml ini conf cfg env dotenv properties ", comments: []string{"#", ";"}, spans: []span{{`"""`, `"""`, false}}, quotes: `"'`, words: " true false null yes no on off "},
	{names: " html xml svg vue htm ", spans: []span{{"<!--", "-->", true}}, quotes: `"`, words: " html head body div span script style link meta title class id href src type template "},
	{names: " css scss less sass ", comments: slashes, spans: []span{block}, quotes: `"'`, words: " important media import keyframes supports root hover from to var "},
	{names: " lua ", comments: []string{"--"}, spans: []span{{"--[[", "]]", true}, {"[[", "]]", false}}, quotes: `"'`,
		words: " and break do else elseif end false for function goto if in local nil not or repeat return then true until while "},
	{names: " hs haskell elm ", comments: []string{"--"}, spans: []span{{"{-", "-}", true}}, quotes: `"`,
		words: " case class data deriving do else if import in infix instance let module newtype of then type where True False "},
	{names: " ex exs elixir erl erlang ", comments: []string{"#", "%"}, spans: []span{{`"""`, `"""`, false}}, quotes: `"'`,
		words: " after alias and case catch cond def defmodule defp defstruct do else end false fn for if import in nil not or raise receive rescue true try unless use when with "},
	{names: " dockerfile docker make makefile mk cmake just hcl tf terraform nix ", comments: hash, spans: []span{block}, quotes: `"`,
		words: " FROM RUN CMD COPY ADD ENV ARG WORKDIR ENTRYPOINT EXPOSE USER VOLUME LABEL AS if else endif ifeq ifneq ifdef include define endef export let in with rec inherit resource variable output module data provider true false "},
	{names: " proto protobuf graphql gql zig ", comments: []string{"//", "#"}, spans: []span{block, {`"""`, `"""`, false}}, quotes: `"'`,
		words: " syntax package import message service rpc returns enum oneof repeated optional reserved string int32 int64 bool bytes type query mutation subscription input interface union fragment on const fn pub var return if else while for switch struct try catch defer comptime usize "},
	{names: " diff patch udiff ", diff: true},
}

// Line returns the next line in colours. It must hold no escapes. A line that is no
// UTF-8 stays as it is: an escape after half a character would become part of it.
func (h *Highlighter) Line(line string) string {
	if h.lang == nil || len(line) > 4096 || !utf8.ValidString(line) { // longer ones nobody reads
		return line
	}
	if h.lang.diff {
		return h.diff(line)
	}
	var b strings.Builder
	for line != "" {
		n, s := h.token(line)
		b.WriteString(s.Of(line[:n]))
		line = line[n:]
	}
	return b.String()
}

// token returns the length and the style of what comes first in line.
func (h *Highlighter) token(line string) (int, style.Style) {
	if h.open != "" {
		return h.close(line, 0)
	}
	for _, c := range h.lang.comments {
		if strings.HasPrefix(line, c) {
			return len(line), h.paint.Comment
		}
	}
	for _, s := range h.lang.spans {
		if strings.HasPrefix(line, s.begin) {
			h.open, h.as = s.end, h.paint.String
			if s.comment {
				h.as = h.paint.Comment
			}
			return h.close(line, len(s.begin))
		}
	}
	r, n := utf8.DecodeRuneInString(line)
	switch {
	case strings.ContainsRune(h.lang.quotes, r):
		return quoted(line), h.paint.String
	case unicode.IsDigit(r):
		return run(line, func(r rune) bool { return r == '.' || r == '_' || unicode.IsDigit(r) || unicode.IsLetter(r) }), h.paint.Number
	case isWord(r):
		return h.word(line)
	}
	return n, ""
}

// close ends what is open, if its end is in line.
func (h *Highlighter) close(line string, from int) (int, style.Style) {
	at := strings.Index(line[from:], h.open)
	if at < 0 {
		return len(line), h.as
	}
	n := from + at + len(h.open)
	h.open = ""
	return n, h.as
}

func (h *Highlighter) word(line string) (int, style.Style) {
	n := run(line, isWord)
	word := line[:n]
	if h.lang.fold {
		word = strings.ToLower(word)
	}
	switch {
	case strings.Contains(h.lang.words, " "+word+" "):
		return n, h.paint.Keyword
	case strings.HasPrefix(line[n:], "("):
		return n, h.paint.Function
	}
	return n, ""
}

func (h *Highlighter) diff(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return h.paint.Good.Of(line)
	case strings.HasPrefix(line, "-"):
		return h.paint.Bad.Of(line)
	case strings.HasPrefix(line, "@"):
		return h.paint.Accent.Of(line)
	}
	return line
}

// quoted returns the length of a string in quotes, escapes included.
func quoted(line string) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case line[0]:
			return i + 1
		}
	}
	return len(line)
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// run returns the length of the beginning of line that f holds for, at least one
// character.
func run(line string, f func(rune) bool) int {
	_, first := utf8.DecodeRuneInString(line)
	if n := strings.IndexFunc(line[first:], func(r rune) bool { return !f(r) }); n >= 0 {
		return first + n
	}
	return len(line)
}
