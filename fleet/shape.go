package fleet

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
)

var (
	isValue    = regexp.MustCompile(`^[A-Za-z0-9+/]{22}$`) // of a group, hashed
	isDecimal  = regexp.MustCompile(`^-?[0-9]{1,19}$`)
	modeField  = "mode"
	writeField = ":write"

	deadlineField = ":expire_time"
	holdsField    = ":lock_count"
)

// decimal reads a number as INCRBY writes it.
func decimal(text string) (n int64, ok bool) {
	if !isDecimal.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// shapeOf tells what a hash is, by all its fields. One that is no lock is another program's.
func shapeOf(fields map[string]string) (shape, string) {
	all := func(is func(field, value string) bool) bool {
		for field, value := range fields {
			if !is(field, value) {
				return false
			}
		}
		return len(fields) > 0
	}
	mode, moded := fields[modeField]
	switch {
	case moded && (mode == "read" || mode == "write") && all(func(field, value string) bool {
		return field == modeField || isOwner.MatchString(strings.TrimSuffix(field, writeField)) &&
			isDecimal.MatchString(value)
	}):
		return sides, "a read-write lock"
	case all(func(field, value string) bool { return isOwner.MatchString(field) && isDecimal.MatchString(value) }):
		return owners, "a lock"
	case all(groupField):
		return values, "a group lock"
	}
	return foreign, "a hash of another program"
}

// groupField tells whether a field can be one of a group: a value with its owner, or that owner's deadline or
// holds.
func groupField(field, value string) bool {
	if isValue.MatchString(field) {
		return isOwner.MatchString(value)
	}
	name, owner, _ := strings.Cut(field, ":")
	bare, deadline := strings.CutSuffix(owner, deadlineField)
	bare, holds := strings.CutSuffix(bare, holdsField)
	return (deadline != holds) && isValue.MatchString(name) && isOwner.MatchString(bare) && isDecimal.MatchString(value)
}

// plausible tells whether some fields can be those of an object that has more.
func plausible(fields map[string]string) bool {
	more := maps.Clone(fields)
	more[modeField] = "read"
	shape, _ := shapeOf(more)
	return shape != foreign
}
