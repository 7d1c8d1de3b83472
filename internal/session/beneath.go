package session

import (
	"reflect"
	"slices"

	"github.com/redis/go-redis/v9"
)

// beneath is the client library's own client in a client of the program, which is that itself or a wrapper
// that embeds it, also as an interface. It is the zero Value where the wrapper keeps its client otherwise: as
// a field with a name, or where no field shows it.
func beneath(client any) reflect.Value {
	for v := reflect.ValueOf(client); ; {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct { // also what a nil points to
			return reflect.Value{}
		}
		switch v.Type() {
		case reflect.TypeFor[redis.Client](), reflect.TypeFor[redis.ClusterClient](), reflect.TypeFor[redis.Ring]():
			return v
		}
		inner := reflect.Value{}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous && (f.Type.Implements(clientType) || reflect.PointerTo(f.Type).Implements(clientType)) {
				inner = v.Field(i)
				break
			}
		}
		v = inner
	}
}

var clientType = reflect.TypeFor[Client]()

// isRing tells whether client is a ring, or a wrapper of one as far as that can be seen.
func isRing(client Client) bool {
	// a wrapper may have its methods by other means
	if _, ring := client.(interface{ Options() *redis.RingOptions }); ring {
		return true
	}
	inner := beneath(client)
	return inner.IsValid() && inner.Type() == reflect.TypeFor[redis.Ring]()
}

// Addresses are the servers of a client, and the number of the database there, as far as the client shows
// them. One made for Sentinel shows none.
func Addresses(client Client) (addresses []string, db int) {
	if inner := beneath(client); inner.IsValid() && inner.CanAddr() && inner.CanInterface() {
		if found, ok := inner.Addr().Interface().(Client); ok {
			client = found
		}
	}
	switch c := client.(type) {
	case interface{ Options() *redis.Options }:
		if o := c.Options(); o.Addr != "FailoverClient" {
			return []string{o.Addr}, o.DB
		}
	case interface{ Options() *redis.ClusterOptions }:
		return c.Options().Addrs, 0
	}
	return nil, 0
}

// SameServer tells whether two clients are seen to have a server in common.
func SameServer(a, b Client) bool {
	addresses, _ := Addresses(a)
	others, _ := Addresses(b)
	return slices.ContainsFunc(addresses, func(address string) bool { return slices.Contains(others, address) })
}

// SameDatabase tells whether two clients are seen to have their keys in one place.
func SameDatabase(a, b Client) bool {
	_, db := Addresses(a)
	_, other := Addresses(b)
	return db == other && SameServer(a, b)
}
