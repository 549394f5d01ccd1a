package registry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A filler puts what the user has set into an entry.
type filler struct {
	set      map[string][]string
	known    map[string]bool // what can be set
	needs    []string        // what must be set and is not, as flags
	problems []error
}

func (f *filler) problem(format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf(format, args...))
}

// theirs checks a text of the registry: ${NAME} in an entry is a variable of the user's
// environment, which a stranger must not get, also not by putting it together of parts.
func (f *filler) theirs(text string, part bool) string {
	if strings.Contains(text, "${") || part && strings.HasSuffix(text, "$") {
		f.problem("%q would be replaced with a variable from your environment", text)
		return ""
	}
	return text
}

// named fills variables or headers in; nil if none is set.
func (f *filler) named(list []Input) map[string]string {
	var all map[string]string
	for _, in := range list {
		if !fieldName.MatchString(in.Name) {
			f.problem("%q is not a valid name for a variable or a header", in.Name)
			continue
		}
		values, ok := f.values(in.Name, in, false)
		if !ok {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[in.Name] = strings.Join(values, ",")
	}
	return all
}

// arguments fills arguments in.
func (f *filler) arguments(list []Input) (words []string) {
	for i, in := range list {
		key := in.Hint
		if in.Type == "named" {
			key = strings.TrimLeft(in.Name, "-")
		}
		if key == "" {
			key = "argument" + strconv.Itoa(i+1)
		}
		values, ok := f.values(key, in, false)
		if !ok {
			continue
		}
		name := f.theirs(in.Name, false)
		switch {
		case in.Type != "named":
			words = append(words, values...)
		case in.Format == "boolean" && values[0] == "true":
			words = append(words, name)
		case in.Format == "boolean" && values[0] == "false":
		default:
			for _, v := range values {
				words = append(words, name, v)
			}
		}
	}
	return words
}

// values are those of an input; false means that it is left out. A part becomes a piece of
// a longer text.
func (f *filler) values(key string, in Input, part bool) ([]string, bool) {
	if in.Value != "" && !part {
		return []string{f.template(string(in.Value), in.Variables)}, true
	}
	f.known[key] = true
	if given := f.set[key]; len(given) > 0 {
		f.check(key, in, given)
		return given, true
	}
	switch {
	case in.Value != "":
		return []string{f.theirs(string(in.Value), part)}, true
	case in.Default != "":
		return []string{f.theirs(string(in.Default), part)}, true
	case in.Required:
		f.need(key, in)
	}
	return nil, false
}

func (f *filler) need(key string, in Input) {
	flag := fmt.Sprintf("--config '%s=…'", key)
	if in.Secret {
		flag = fmt.Sprintf("--config '%s=${NAME_OF_A_VARIABLE}'", key)
	}
	if in.Description != "" {
		flag += " (" + in.Description + ")"
	}
	if !slices.Contains(f.needs, flag) {
		f.needs = append(f.needs, flag)
	}
}

var (
	fieldName     = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	inEnvironment = lazyregexp.New(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)
	placeholder   = lazyregexp.New(`\{([^{}]+)\}`)
)

// check says what is wrong with what the user has set.
func (f *filler) check(key string, in Input, given []string) {
	if len(given) > 1 && !in.Repeated {
		f.problem("%s accepts only one value", key)
	}
	for _, v := range given {
		if inEnvironment.MatchString(v) {
			continue
		}
		_, number := strconv.ParseFloat(v, 64)
		switch {
		case in.Secret:
			f.problem("%s is a secret: put it in an environment variable and give --config '%s=${NAME}'", key, key)
		case len(in.Choices) > 0 && !slices.Contains(in.Choices, plain(v)):
			f.problem("%s cannot be %q: it must be one of %v", key, v, in.Choices)
		case in.Format == "number" && number != nil:
			f.problem("%s cannot be %q: it must be a number", key, v)
		case in.Format == "boolean" && v != "true" && v != "false":
			f.problem("%s cannot be %q: it must be true or false", key, v)
		}
	}
}

// template fills {name} in, where it is one of the variables.
func (f *filler) template(text string, variables map[string]Input) string {
	return placeholder.ReplaceAllStringFunc(f.theirs(text, false), func(match string) string {
		name := match[1 : len(match)-1]
		in, ok := variables[name]
		if !ok {
			return match
		}
		values, ok := f.values(name, in, true)
		if !ok && !in.Required {
			f.need(name, in)
		}
		return strings.Join(values, ",")
	})
}
