"""The policy that `pluralis demo` publishes the embedded hospital discharges under."""

POLICY = """\
# What may be published about the discharges, and what must not be learned from it.
version: 1
attributes:
  age:       {role: quasi, type: number}
  gender:    {role: quasi}
  zipcode:   {role: quasi, hierarchy: {mask: right}}
  race:      {role: quasi}
  diagnosis: {role: sensitive, l: 4}
  insurer:   {role: sensitive, l: 2}
  charges:   {role: sensitive, l: 3, type: number, bin: 5000}
others: drop          # hospital, county, admission and procedure are not published
person: patient       # some people have several stays; no group holds two of one person
adversaries:          # besides the one who knows every quasi-identifier
  - {knows: [age, gender, zipcode, race, insurer]}
publish:
  method: bsgi
"""
