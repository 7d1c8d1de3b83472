package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// User is a client of a user of its own, who may do everything but what the ACL rules take away. A server that others
// use too has one such user at a time.
func (s *Server) User(tb testing.TB, rules ...string) *redis.Client {
	tb.Helper()
	set := []any{"acl", "setuser", "limited", "reset", "on", ">secret", "~*", "&*", "+@all"}
	for _, rule := range rules {
		set = append(set, rule)
	}
	if err := s.Client(tb).Do(tb.Context(), set...).Err(); err != nil {
		tb.Fatalf("make a user: %v", err)
	}
	return s.Client(tb, func(o *redis.Options) { o.Username, o.Password = "limited", "secret" })
}
