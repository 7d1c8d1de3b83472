package session

import (
	"reflect"
	"runtime"
	"weak"
)

// A record is what lasts for as long as a client does, also between its sessions.
type record struct {
	said   configuration
	dialed *dialed // nil until a session listens
}

// recordOf is the record of a client, which is made when there is none. The caller has the mutex of sessions.
func recordOf(client Client) *record {
	key, anchor := markOf(client)
	r := sessions.records[key]
	if r == nil {
		r = &record{said: configuration{}}
		sessions.records[key] = r
		if anchor != nil {
			runtime.AddCleanup(anchor, forgetRecord, key)
		}
	}
	return r
}

func forgetRecord(key mark) {
	sessions.Lock()
	defer sessions.Unlock()
	delete(sessions.records, key)
}

// A mark stands for a client in a map without keeping it from the garbage collector. Equal clients have equal
// marks: where a client has a pointer its mark has a weak one, and a wrapper that is a value has a mark of
// its fields.
type mark struct {
	of    reflect.Type
	value any // a weak pointer, a plain value, or the mark of the last field
	rest  any // the mark of the fields before
}

// markOf makes the mark of a client, which is comparable. The anchor is a part of it: while a client with
// this mark is in use the anchor is not garbage. It is nil for a client without a pointer.
func markOf(client Client) (m mark, anchor *byte) {
	return weaken(reflect.ValueOf(client), &anchor), anchor
}

func weaken(v reflect.Value, anchor **byte) mark {
	if !v.IsValid() { // an interface that is nil
		return mark{}
	}
	m := mark{of: v.Type()}
	switch v.Kind() {
	case reflect.Interface:
		return weaken(v.Elem(), anchor)
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		if p := (*byte)(v.UnsafePointer()); p != nil {
			if *anchor == nil {
				*anchor = p
			}
			m.value = weak.Make(p)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "_" {
				m = mark{v.Type(), weaken(v.Field(i), anchor), m}
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			m = mark{v.Type(), weaken(v.Index(i), anchor), m}
		}
	case reflect.Bool:
		m.value = v.Bool()
	case reflect.String:
		m.value = v.String()
	case reflect.Float32, reflect.Float64:
		m.value = v.Float()
	case reflect.Complex64, reflect.Complex128:
		m.value = v.Complex()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		m.value = v.Int()
	default: // what is left of the comparable kinds
		m.value = v.Uint()
	}
	return m
}
