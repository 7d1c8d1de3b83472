package proxy

import (
	"slices"
	"strings"
)

// subscriptions is what a link must know of pub/sub to count replies. It is guarded by the link's mu.
type subscriptions struct {
	names map[string]map[string]bool // "subscribe", "psubscribe", "ssubscribe": the names, as of the last request sent on
	ever  bool                       // something was confirmed: in RESP2 an array may now be a message
}

// confirmations returns how many frames will answer a command, and keeps the names up to date. Every name of a
// subscription command is confirmed by a frame of its own; so is every name that an UNSUBSCRIBE without names covers.
func (s *subscriptions) confirmations(c Command) int {
	verb := strings.ToLower(c.Name)
	switch verb {
	case "subscribe", "psubscribe", "ssubscribe":
		if s.names == nil {
			s.names = make(map[string]map[string]bool)
		}
		if s.names[verb] == nil {
			s.names[verb] = make(map[string]bool)
		}
		for _, name := range c.Args {
			s.names[verb][name] = true
		}
		return max(1, len(c.Args))
	case "unsubscribe", "punsubscribe", "sunsubscribe":
		known := s.names[strings.Replace(verb, "un", "", 1)]
		if len(c.Args) == 0 {
			n := max(1, len(known))
			clear(known)
			return n
		}
		for _, name := range c.Args {
			delete(known, name)
		}
		return len(c.Args)
	case "reset":
		clear(s.names)
	}
	return 1
}

// isMessage tells a published message from everything else that a server sends.
func (s *subscriptions) isMessage(f frame) bool {
	return (f.kind == '>' || f.kind == '*' && s.ever) && len(f.strs) > 0 &&
		(f.strs[0] == "message" || f.strs[0] == "pmessage" || f.strs[0] == "smessage")
}

// isReply tells whether a frame answers c, the oldest command without an answer. In RESP3 everything out of turn is a
// push, and so are confirmations; in RESP2 both are arrays, and what comes out of turn is only the sunsubscribe of a
// slot that moves away.
func (s *subscriptions) isReply(f frame, c Command) bool {
	confirms := len(f.strs) > 0 && f.strs[0] == strings.ToLower(c.Name) && subscribes(c.Name) &&
		(len(c.Args) == 0 || len(f.strs) < 2 || slices.Contains(c.Args, f.strs[1]))
	switch {
	case f.kind == '>':
		return confirms
	case f.kind == '*' && s.ever && len(f.strs) > 0 && f.strs[0] == "sunsubscribe":
		return confirms
	default:
		return true
	}
}

func subscribes(name string) bool {
	switch name {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		return true
	}
	return false
}
