"""What was measured, beside what was aimed at."""
import operator
import re

COMPARISONS = {"<=": operator.le, ">=": operator.ge}


class Figures:
    def __init__(self):
        self.rows = []     # name, value, unit, target
        self.missing = []  # name, why

    def add(self, name, value, unit, target=""):
        self.rows.append((name, value, unit, target))
        print(f"   {name}: {_text(value)} {unit}", flush=True)

    def miss(self, name, why):
        self.missing.append((name, why))
        print(f"   {name}: NOT MEASURED: {why}", flush=True)

    def read_lines(self, text):
        """Takes in the lines `FIGURE name<tab>value<tab>unit<tab>target`; how many there were."""
        count = 0
        for line in text.splitlines():
            if not line.startswith("FIGURE "):
                continue
            name, value, unit, target = (line[len("FIGURE "):].split("\t") + [""] * 3)[:4]
            self.add(name.strip(), float(value), unit.strip(), target.strip())
            count += 1
        return count

    def table(self):
        rows = [("figure", "measured", "unit", "target", "")]
        for name, value, unit, target in self.rows:
            rows.append((name, _text(value), unit, target, _verdict(value, target)))
        rows += [(name, "-", "", "", f"not measured: {why}") for name, why in self.missing]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = []
        for name, value, unit, target, verdict in rows:
            lines.append(f"{name:<{widths[0]}}  {value:>{widths[1]}}  {unit:<{widths[2]}}  "
                         f"{target:<{widths[3]}}  {verdict}".rstrip())
        return "\n".join(lines) + "\n"

    def tsv(self):
        return "".join(f"{name}\t{_text(value)}\t{unit}\t{target}\t{_verdict(value, target)}\n"
                       for name, value, unit, target in self.rows)


def _text(value):
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _verdict(value, target):
    match = re.fullmatch(r"(<=|>=)\s*([\d.,]+)", target)
    if not match:
        return ""
    met = COMPARISONS[match[1]](value, float(match[2].replace(",", "")))
    return "met" if met else "MISSED"
