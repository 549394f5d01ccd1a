package elicit

import (
	"encoding/json"
	"errors"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/lang"
)

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
