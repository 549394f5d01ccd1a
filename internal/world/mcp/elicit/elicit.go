// Package elicit turns the schema of a form that an MCP server asks to be filled in
// into fields, and what the user typed into the answer. It knows every kind of field
// that the protocol has, and checks an answer before it is sent: a server that gets
// one out of range refuses the whole form.
package elicit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/world/mcp/envelope"
)

// A Kind is how a field is filled in.
type Kind int

const (
	// Text is typed as it is.
	Text Kind = iota
	// Number is a number, whole or not.
	Number
	// Integer is a whole number.
	Integer
	// YesNo is one of two options, yes and no.
	YesNo
	// One is one of the options.
	One
	// Many is any of the options.
	Many
)

// A Field is one thing to fill in.
type Field struct {
	Name     string
	Label    string // its title, or its name
	Help     string // what the server says about it, and the bounds
	Kind     Kind
	Required bool
	Options  []Option
	// Default is what is typed if nothing else is, in the words of [Field.Value]; ""
	// for none.
	Default string

	schema property
	words  *lang.Catalogue
}

// An Option is one of the answers.
type Option struct {
	Title string
	value json.RawMessage
}

// property is the schema of a field, all kinds together.
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []titled        `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []titled `json:"anyOf"`
	} `json:"items"`
	Format    string   `json:"format"`
	MinLength *int     `json:"minLength"`
	MaxLength *int     `json:"maxLength"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	MinItems  *int     `json:"minItems"`
	MaxItems  *int     `json:"maxItems"`
}

type titled struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// Fields returns the fields of a form in the order of its schema. Words are the language of
// what is said about them, nil is English.
func Fields(schema json.RawMessage, words *lang.Catalogue) ([]Field, error) {
	if !json.Valid(schema) {
		return nil, lang.Errorf("the schema of the form is not JSON")
	}
	var required []string
	if raw := envelope.Field(schema, "required"); raw != nil {
		if err := json.Unmarshal(raw, &required); err != nil {
			return nil, lang.Errorf("the schema of the form is invalid: required: %s", err)
		}
	}
	var fields []Field
	for name, raw := range envelope.Fields(envelope.Field(schema, "properties")) {
		var p property
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, lang.Errorf("the schema of the field %s is invalid: %s", name, err)
		}
		f, err := fieldOf(name, p, words)
		if err != nil {
			return nil, err
		}
		f.Required = slices.Contains(required, name)
		fields = append(fields, f)
	}
	return fields, nil
}

func fieldOf(name string, p property, words *lang.Catalogue) (Field, error) {
	f := Field{Name: name, Label: p.Title, schema: p, words: words}
	if f.Label == "" {
		f.Label = name
	}
	switch {
	case p.Type == "boolean":
		f.Kind, f.Options = YesNo, []Option{{words.T("yes"), json.RawMessage("true")}, {words.T("no"), json.RawMessage("false")}}
	case p.Type == "array":
		f.Kind, f.Options = Many, options(p.Items.Enum, nil, p.Items.AnyOf)
	case p.Type == "integer":
		f.Kind = Integer
	case p.Type == "number":
		f.Kind = Number
	case p.Enum != nil || p.OneOf != nil:
		f.Kind, f.Options = One, options(p.Enum, p.EnumNames, p.OneOf)
	case p.Type != "string":
		return f, lang.Errorf("the field %s has a type that forms do not support: %q", name, p.Type)
	}
	if (f.Kind == One || f.Kind == Many) && len(f.Options) == 0 {
		return f, lang.Errorf("the field %s has nothing to choose from", name)
	}
	if f.Help = p.Description; f.bounds() != "" {
		f.Help = strings.TrimSpace(f.Help + " (" + f.bounds() + ")")
	}
	return f, f.begin(p.Default)
}

func options(values, names []string, both []titled) []Option {
	var list []Option
	for i, v := range values {
		o := Option{Title: v, value: quoted(v)}
		if i < len(names) && names[i] != "" {
			o.Title = names[i]
		}
		list = append(list, o)
	}
	for _, t := range both {
		o := Option{Title: t.Title, value: quoted(t.Const)}
		if o.Title == "" {
			o.Title = t.Const
		}
		list = append(list, o)
	}
	return list
}

// begin takes the default of the schema. One that is none of the options is none.
func (f *Field) begin(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	switch f.Kind {
	case Text:
		return json.Unmarshal(raw, &f.Default)
	case Number, Integer:
		f.Default = string(raw)
	case YesNo, One:
		f.Default = f.position(raw)
	case Many:
		var at []string
		for v := range envelope.Elements(raw) {
			if p := f.position(v); p != "" {
				at = append(at, p)
			}
		}
		f.Default = strings.Join(at, ",")
	}
	return nil
}

// position is the number of the option with a value, from 1; "" for none.
func (f *Field) position(raw json.RawMessage) string {
	for i, o := range f.Options {
		if string(o.value) == string(raw) {
			return strconv.Itoa(i + 1)
		}
	}
	return ""
}

// Value is what was typed as the form wants it; nil for a field that is left out.
// Options are named by their numbers from 1, or by their titles; several have commas
// between them.
func (f *Field) Value(typed string) (json.RawMessage, error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		if f.Required {
			return nil, f.errorf("a value is required")
		}
		return nil, nil
	}
	switch f.Kind {
	case Integer, Number:
		return f.number(typed)
	case YesNo, One:
		return f.option(typed)
	case Many:
		return f.many(typed)
	}
	return f.text(typed)
}

func (f *Field) errorf(text lang.Text, args ...any) error {
	return errors.New(f.words.T(text, args...))
}

func (f *Field) number(typed string) (json.RawMessage, error) {
	n, err := strconv.ParseFloat(typed, 64)
	if err != nil || !json.Valid([]byte(typed)) {
		return nil, f.errorf("not a number")
	}
	if _, err := strconv.ParseInt(typed, 10, 64); err != nil && f.Kind == Integer {
		return nil, f.errorf("not a whole number")
	}
	if p := f.schema; p.Minimum != nil && n < *p.Minimum || p.Maximum != nil && n > *p.Maximum {
		return nil, f.errorf("must be %s", f.bounds())
	}
	return json.RawMessage(typed), nil
}

func (f *Field) option(typed string) (json.RawMessage, error) {
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(f.Options) {
		return f.Options[n-1].value, nil
	}
	for i, o := range f.Options {
		if strings.EqualFold(o.Title, typed) || f.Kind == YesNo && slices.Contains([][]string{{"y", "yes"}, {"n", "no"}}[i], strings.ToLower(typed)) {
			return o.value, nil
		}
	}
	return nil, f.errorf("there is no option %q", typed)
}

func (f *Field) many(typed string) (json.RawMessage, error) {
	chosen := []json.RawMessage{}
	for part := range strings.SplitSeq(typed, ",") {
		v, err := f.option(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(c json.RawMessage) bool { return string(c) == string(v) }) {
			chosen = append(chosen, v)
		}
	}
	if p := f.schema; p.MinItems != nil && len(chosen) < *p.MinItems || p.MaxItems != nil && len(chosen) > *p.MaxItems {
		return nil, f.errorf("choose %s", f.bounds())
	}
	return json.Marshal(chosen)
}

func (f *Field) text(typed string) (json.RawMessage, error) {
	if n, p := utf8.RuneCountInString(typed), f.schema; p.MinLength != nil && n < *p.MinLength || p.MaxLength != nil && n > *p.MaxLength {
		return nil, f.errorf("must have %s", f.bounds())
	}
	var err error
	switch f.schema.Format {
	case "email":
		var a *mail.Address
		if a, err = mail.ParseAddress(typed); err == nil && a.Address != typed {
			err = errors.New("only the address itself")
		}
	case "uri":
		var u *url.URL
		if u, err = url.Parse(typed); err == nil && u.Scheme == "" {
			err = errors.New("it has no scheme")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, typed)
	case "date-time":
		_, err = time.Parse(time.RFC3339, typed)
	}
	if err != nil {
		return nil, f.errorf("must be %s", f.words.T(formats[f.schema.Format]))
	}
	return quoted(typed), nil
}

// formats are what text of a format looks like.
var formats = map[string]lang.Text{
	"email": "an email address", "uri": "an address with its scheme, such as https://example.com",
	"date": "a date, such as 2026-01-31", "date-time": "a time, such as 2026-01-31T15:04:05Z",
}

// bounds are what the schema allows, in words; "" for anything.
func (f *Field) bounds() string {
	p := f.schema
	switch f.Kind {
	case Number, Integer:
		return f.between(p.Minimum, p.Maximum, "")
	case Many:
		return f.between(count(p.MinItems), count(p.MaxItems), "of them")
	case Text:
		if p.MinLength != nil || p.MaxLength != nil {
			return f.between(count(p.MinLength), count(p.MaxLength), "characters")
		}
		return f.words.T(formats[p.Format])
	}
	return ""
}

func count(n *int) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

func (f *Field) between(low, high *float64, what lang.Text) string {
	var s string
	switch {
	case low != nil && high != nil && *low == *high:
		s = f.words.T("exactly %g", *low)
	case low != nil && high != nil:
		s = f.words.T("%g to %g", *low, *high)
	case low != nil:
		s = f.words.T("at least %g", *low)
	case high != nil:
		s = f.words.T("at most %g", *high)
	default:
		return ""
	}
	return strings.TrimSpace(s + " " + f.words.T(what))
}

func quoted(s string) json.RawMessage {
	raw, _ := json.Marshal(s) // a string always has a form
	return raw
}

// Content is the answer: what was typed for each field, by its name. The first field
// that is filled in wrongly is named in the error.
func Content(fields []Field, typed map[string]string) (json.RawMessage, error) {
	content := map[string]json.RawMessage{}
	for _, f := range fields {
		value, err := f.Value(typed[f.Name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Label, err)
		}
		if value != nil {
			content[f.Name] = value
		}
	}
	return json.Marshal(content)
}
