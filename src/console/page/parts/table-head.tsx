/** A column: its name, and the class of its head where it has one. */
type Column = string | readonly [name: string, className: string];

/** The head of a table. */
export const TableHead = ({ columns }: { readonly columns: readonly Column[] }) => (
  <thead>
    <tr>
      {columns.map((column) => {
        const [name, className] = typeof column === 'string' ? [column, undefined] : column;
        return (
          <th key={name} scope="col" class={className}>
            {name}
          </th>
        );
      })}
    </tr>
  </thead>
);
